"""What a plan is: its models, its file, its edits, and the words for what is wrong in one."""
