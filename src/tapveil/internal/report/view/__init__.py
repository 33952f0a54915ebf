"""What the report looks like: templates, plots and a style sheet. It computes nothing."""
