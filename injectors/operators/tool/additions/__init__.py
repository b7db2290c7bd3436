"""What is put beside a result: remarks, repetitions, empty fields, planted instructions."""
