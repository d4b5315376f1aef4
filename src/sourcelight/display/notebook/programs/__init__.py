"""What runs and looks in the browser: a program and a style for each widget, plain files with nothing to build."""
