"""Well-known tools of agents, frameworks and MCP servers whose names alone don't tell their class.

Only names whose meaning is settled wherever they are used; what a name tells by its words isn't repeated
here. A description that writes still lowers the trust in a name of READS.
"""

from __future__ import annotations

from crosswind.injectors.targets import ToolClass

_READS = """
    Read LS NotebookRead TodoRead LSP ListMcpResourcesTool ReadMcpResourceTool view_image list_dir
    grep_files read_many_files search_file_content web_fetch codebase_search fetch_rules
    list_code_definition_names search_dir search_file find_file view_line_range directory_tree
    file_search wikipedia wikidata arxiv pub_med pubmed wolfram_alpha open_weather_map
    openweathermap weather forecast calculator llm-math dictionary thesaurus retriever retrieval
    knowledge_base vectorstore semanticscholar stack_exchange duckduckgo_results_json google_serper
    google_serper_results_json google_scholar google_finance google_trends google_jobs google_lens
    google_places yahoo_finance_news alpha_vantage serpapi searchapi bing_results_json
    current_webpage sql_db_schema sql_db_list_tables sql_db_query_checker json_spec_list_keys
    json_spec_get_value requests_get read_query read_graph open_nodes git_status git_diff
    git_diff_unstaged git_diff_staged git_log git_show git_blame maps_geocode maps_reverse_geocode
    maps_place_details maps_distance_matrix maps_elevation maps_directions resolve-library-id
    get-library-docs firecrawl_scrape firecrawl_map tavily_extract tavily-extract tavily-map
    tavily_map crawling_exa company_research_exa API-post-search API-post-database-query
    convert_time convert_currency browser_snapshot browser_console_messages browser_network_requests
    kubectl_get kubectl_describe kubectl_logs cat ls grep find wc head tail diff du pwd stat tree
    whoami search lookup query_docs issue_read pull_request_read
"""

_RUNS_ANYTHING = """
    Bash BashOutput Task Agent Skill SlashCommand shell local_shell exec_command write_stdin
    unified_exec run_shell_command run_terminal_cmd execute_command execute_bash
    execute_ipython_cell code_interpreter computer computer_use_preview browser browser_action
    terminal python python_repl python_repl_ast sql_db_query execute_sql run_sql sql_query
    query_database db_query database_query ask_user AskUserQuestion ask_followup_question human
    think sequentialthinking ExitPlanMode new_task switch_mode attempt_completion browser_evaluate
    browser_wait_for puppeteer_evaluate
"""

_WRITES = """
    Edit Write MultiEdit NotebookEdit TodoWrite KillShell KillBash apply_patch update_plan replace
    write_file save_memory edit_file search_replace delete_file reapply write_to_file
    replace_in_file apply_diff insert_content str_replace_editor str_replace_based_edit_tool memory
    requests_post requests_put requests_patch requests_delete copy_file file_delete move_file
    click_element navigate_browser previous_webpage write_query append_insight create_entities
    git_add git_commit git_reset git_checkout git_init puppeteer_navigate puppeteer_click
    browser_click browser_navigate browser_type API-patch-page API-post-page API-delete-a-block
    apply_migration kubectl_apply kubectl_delete transfer_to_human_agents rm mv cp mkdir rmdir touch
    chmod
"""

KNOWN: dict[str, ToolClass] = {
    **dict.fromkeys(_READS.split(), ToolClass.READ_ONLY),
    **dict.fromkeys(_RUNS_ANYTHING.split(), ToolClass.UNKNOWN),
    **dict.fromkeys(_WRITES.split(), ToolClass.DESTRUCTIVE),
}
"""By name. UNKNOWN: it depends on the arguments, such as a command or a statement."""
