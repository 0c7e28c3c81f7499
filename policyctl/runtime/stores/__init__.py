"""What several patterns keep in a store share: SQLite files and Redis or Valkey servers."""
