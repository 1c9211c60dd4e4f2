"""A store's records and passages in PostgreSQL, where a team finds them: `publish` puts them there, `Shared` asks."""
