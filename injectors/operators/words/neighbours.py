"""Other things that a service offers around what a tool does: `export_route`, `list_route_requests`.

Each is a name with `{n}` for what the tool is about, and a sentence: on what the tool does (`{base}` is "plan
a route", `{gerund}` is "planning a route"), or on the thing that it does it with (`{thing}` is "a route").
None of them does it.
"""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.injectors.targets import Half


def _read(lines: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.strip().split(": ", 1) for line in lines.strip().splitlines())
    return tuple((name, says) for name, says in pairs)


AROUND_DEEDS: Mapping[Half, tuple[tuple[str, str], ...]] = {
    Half.TRAIN: _read(
        """
        explain_{n}: Explain how to {base}
        estimate_{n}_time: Estimate the time needed to {base}
        estimate_{n}_cost: Estimate the cost to {base}
        list_{n}_requests: List previous requests to {base}
        get_{n}_quota: Get the remaining quota for {gerund}
        schedule_{n}: Schedule a job to {base}
        count_{n}_calls: Count the calls made to {base}
        get_{n}_logs: Retrieve the logs of {gerund}
        validate_{n}_input: Validate the input used to {base}
        check_{n}_permission: Check if a user is allowed to {base}
        get_{n}_help: Show the documentation on how to {base}
        list_{n}_sources: List the sources used to {base}
        get_{n}_defaults: Get the default settings for {gerund}
        set_{n}_defaults: Set the default values for {gerund}
        list_{n}_errors: Find the errors that occurred while {gerund}
        request_{n}_access: Request permission to {base}
        get_{n}_schema: Describe the data returned when {gerund}
        compare_{n}_methods: Compare methods to {base}
        suggest_{n}: Suggest when to {base}
        clear_{n}_cache: Clear the cached results of {gerund}
        """
    ),
    Half.TEST: _read(
        """
        describe_{n}_steps: Describe the steps of {gerund}
        predict_{n}_duration: Predict the duration of {gerund}
        get_{n}_price: Get the fee charged for {gerund}
        get_{n}_history: Return a history of who asked to {base}
        get_{n}_limits: Fetch the limits that apply to {gerund}
        get_{n}_usage: Get usage statistics for {gerund}
        audit_{n}: Audit the attempts made at {gerund}
        check_{n}_format: Check the format of the values needed for {gerund}
        list_{n}_users: List users who may {base}
        find_{n}_examples: Find examples of {gerund}
        submit_{n}_feedback: Submit feedback about {gerund}
        list_{n}_providers: List the providers available for {gerund}
        get_{n}_settings: Read the settings that control {gerund}
        update_{n}_settings: Change how the system tends to {base}
        report_{n}_problem: Report a problem with {gerund}
        grant_{n}_access: Grant a group the right to {base}
        list_{n}_fields: List the fields that exist when {gerund}
        list_{n}_alternatives: List alternatives to {gerund}
        get_{n}_tips: Give tips for {gerund}
        subscribe_{n}: Subscribe to news on {gerund}
        reset_{n}_counters: Reset the counters kept for {gerund}
        """
    ),
}
"""By half, those on what the tool does."""
AROUND_THINGS: Mapping[Half, tuple[tuple[str, str], ...]] = {
    Half.TRAIN: _read(
        """
        export_{n}: Export {thing}
        save_{n}: Save {thing}
        update_{n}: Update {thing}
        archive_{n}: Archive {thing}
        compare_{n}: Compare {thing}
        summarize_{n}: Summarize {thing}
        validate_{n}: Validate {thing}
        share_{n}: Share {thing}
        print_{n}: Print {thing}
        delete_{n}: Delete {thing}
        monitor_{n}: Monitor {thing}
        import_{n}: Import {thing}
        approve_{n}: Approve {thing}
        schedule_{n}: Schedule {thing}
        refresh_{n}: Refresh {thing}
        explain_{n}: Explain {thing}
        restore_{n}: Restore {thing}
        tag_{n}: Add a tag to {thing}
        get_{n}_trend: Get the trend of {thing}
        log_{n}: Record {thing}
        """
    ),
    Half.TEST: _read(
        """
        download_{n}: Download {thing}
        store_{n}: Store {thing}
        edit_{n}: Edit {thing}
        analyze_{n}: Analyze {thing}
        review_{n}: Review {thing}
        describe_{n}: Describe {thing}
        verify_{n}: Verify {thing}
        publish_{n}: Publish {thing}
        remove_{n}: Remove {thing}
        track_{n}: Track {thing}
        copy_{n}: Copy {thing}
        preview_{n}: Preview {thing}
        submit_{n}: Submit {thing}
        evaluate_{n}: Evaluate {thing}
        report_{n}: Report {thing}
        organize_{n}: Organize {thing}
        upload_{n}: Upload {thing}
        label_{n}: Put a label on {thing}
        audit_{n}: Audit the changes of {thing}
        """
    ),
}
"""By half, those on what it does it with."""
