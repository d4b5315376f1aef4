"""What needs a client: reports, and notebook comforts."""
