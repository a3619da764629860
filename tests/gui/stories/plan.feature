Feature: A plan that people trust
  A plan lives for months, is changed, compared, shown and reopened by others. Nothing of it is lost.

  Scenario: An edit answers at once, and is undone and redone by its name
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    Then the verdict is "Tight"
    When "Micro-batch" is set to "8"
    Then the verdict is "Does not fit"
    And the window is marked as changed
    And the menu "Edit" offers "Undo micro-batch"
    When Ctrl+Z is pressed
    Then the verdict is "Tight"
    And "Micro-batch" shows "1"
    And the window is not marked as changed
    And the menu "Edit" offers "Redo micro-batch"
    When Ctrl+Shift+Z is pressed
    Then the verdict is "Does not fit"

  Scenario: A value that cannot be is refused where it was typed, and the plan stays
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "Micro-batch" is set to "-3"
    Then something is said under "Micro-batch"
    And the plan's "training.micro_batch" is 1
    And the verdict is "Tight"

  Scenario: What was typed and is not meant leaves no trace, however slowly
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "x" is typed into "Plan title"
    And two seconds go by
    And "y" is typed into "Plan title"
    And Escape is pressed in "Plan title"
    Then "Plan title" shows "Llama-3.1-8B on A100 SXM4 80 GB"
    And the window is not marked as changed
    And the menu "Edit" offers no step to undo

  Scenario: A fused optimizer is no part of a set-up whose optimizer has none
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When Ctrl+PgDown is pressed
    Then the scenario is called "Fused optimizer"
    When "Optimizer" is set to "AdamW 8-bit"
    Then the scenario is called "AdamW 8-bit"

  Scenario: A plan is saved, and opened again another day
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "Sequence length" is set to "4096"
    And "File > Save as…" is chosen, and "review.memplan" is given as its name
    Then the window is not marked as changed
    And the window's title begins with "review.memplan"
    When "File > New plan" is chosen
    Then "Sequence length" shows "2048"
    When "File > Open…" is chosen, and "review.memplan" is given as its name
    Then "Sequence length" shows "4096"

  Scenario: Two versions of a plan differ in the line that was changed
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "File > Save as…" is chosen, and "one.memplan" is given as its name
    And "Sequence length" is set to "4096"
    And "File > Save as…" is chosen, and "other.memplan" is given as its name
    Then "one.memplan" and "other.memplan" differ in one line, about "sequence_length"

  Scenario: A change is tried beside what there is, and compared with it
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When Ctrl+D is pressed
    And "Micro-batch" is set to "8"
    And the view "Compare" is looked at
    Then the table "Scenarios side by side" says in its row "Micro-batch": "1", "8", "1", "1"
    And in its row "Peak" the 2nd figure is more than the 1st
    When Ctrl+Z is pressed
    And Ctrl+Z is pressed
    Then there are 3 scenarios

  Scenario: What each change contributes adds up to the difference
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When Ctrl+PgDown is pressed
    And Ctrl+PgDown is pressed
    And the view "Compare" is looked at
    And "Change by change" is clicked
    Then the steps of the waterfall lead from the first scenario's need to the last one's

  Scenario: A page for the design review, the same each time
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "File > Export design-review sheet…" is chosen, and "sheet.pdf" is given as its name
    And "File > Export design-review sheet…" is chosen, and "again.pdf" is given as its name
    Then "sheet.pdf" is a PDF of 1 page that carries its fonts
    And "sheet.pdf" and "again.pdf" hold the same bytes

  Scenario: A chart for slides, with its text as text
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "Export chart…" is clicked, and "chart.svg" is given as its name
    Then "chart.svg" says "Llama-3.1-8B on A100 SXM4 80 GB"
    And "chart.svg" says "75.1 GiB usable"

  Scenario: Somebody else writes the file that is open
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    When "File > Save as…" is chosen, and "shared.memplan" is given as its name
    And another program sets "training.sequence_length" in "shared.memplan" to 1024
    Then the window says "“shared.memplan” was changed by another window or program."
    And "Sequence length" shows "2048"
    When "Reload" is clicked
    Then "Sequence length" shows "1024"
    And the keyboard is in no field
    When Ctrl+Z is pressed
    Then "Sequence length" shows "2048"

  Scenario: A file that is no plan is told, with the place, and the plan stays
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    And a file "broken.memplan" that holds: {"memplan": 1, "scenarios": [{"model": {"catalog": "x"}, "colour": "red"}]}
    When "File > Open…" is chosen, and "broken.memplan" is given as its name
    Then the window says "scenarios[0].colour"
    And the verdict is "Tight"

  Scenario: memplan is killed, and what was not saved comes back
    Given memplan runs with a plan "work.memplan" of its own process
    When "Micro-batch" is set to "3" there, and two seconds go by
    And the process is killed
    And memplan is started again, and "Open it" is answered
    Then "Micro-batch" shows "3" there, unsaved, under "work.memplan (recovered)", in one window
    And "work.memplan" is on disk as it was

  Scenario: A plan that was imported is not lost unasked
    Given the example "Llama-3.1-8B on A100 SXM4 80 GB" is open
    And a file "run.yaml" that holds: {base_model: meta-llama/Llama-3.1-8B, sequence_len: 4096, micro_batch_size: 1, optimizer: adamw_torch}
    When "run.yaml" is imported as a new plan, with "1" as its devices
    Then "Sequence length" shows "4096"
    And the window is marked as changed
