"""The schema of `state.sqlite`, as the list of changes that led to it.

A migration that was released is never edited: the next change is a new entry at the end. Times are whole seconds since
1970 in UTC. Secrets are stored as SHA-256 of long random text, passwords as scrypt.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its name, and its statements, run in one transaction."""

    name: str
    statements: tuple[str, ...]


_ACCOUNTS = Migration(
    "accounts, roles, tokens, grants",
    (
        """CREATE TABLE accounts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE COLLATE NOCASE,
            password TEXT NOT NULL DEFAULT '',
            built_in INTEGER NOT NULL DEFAULT 0,
            created_at INTEGER NOT NULL
        ) STRICT""",
        """CREATE TABLE roles (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE COLLATE NOCASE,
            built_in INTEGER NOT NULL DEFAULT 0,
            created_at INTEGER NOT NULL
        ) STRICT""",
        """CREATE TABLE role_permissions (
            role INTEGER NOT NULL REFERENCES roles ON DELETE CASCADE,
            permission TEXT NOT NULL,
            PRIMARY KEY (role, permission)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE account_roles (
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            role INTEGER NOT NULL REFERENCES roles ON DELETE CASCADE,
            PRIMARY KEY (account, role)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE access_tokens (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            digest BLOB NOT NULL UNIQUE,
            note TEXT NOT NULL,
            scopes TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            revoked_at INTEGER,
            last_used_at INTEGER
        ) STRICT""",
        "CREATE INDEX access_tokens_by_account ON access_tokens (account)",
        """CREATE TABLE repository_grants (
            repository TEXT NOT NULL,
            account INTEGER REFERENCES accounts ON DELETE CASCADE,
            role INTEGER REFERENCES roles ON DELETE CASCADE,
            created_at INTEGER NOT NULL,
            CHECK ((account IS NULL) <> (role IS NULL))
        ) STRICT""",
        "CREATE UNIQUE INDEX grants_of_accounts ON repository_grants (account, repository) WHERE account IS NOT NULL",
        "CREATE UNIQUE INDEX grants_of_roles ON repository_grants (role, repository) WHERE role IS NOT NULL",
        "INSERT INTO accounts (id, name, built_in, created_at) VALUES (1, 'owner', 1, unixepoch())",
        "INSERT INTO roles (id, name, built_in, created_at) VALUES (1, 'User', 1, unixepoch())",
        "INSERT INTO roles (id, name, built_in, created_at) VALUES (2, 'Site Administrator', 1, unixepoch())",
        "INSERT INTO role_permissions VALUES (1, 'MCP#ACCESS')",
        "INSERT INTO account_roles VALUES (1, 2)",
    ),
)

_OAUTH = Migration(
    "OAuth clients and tokens, sign-in sessions",
    (
        """CREATE TABLE oauth_clients (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            secret BLOB,
            redirect_uris TEXT NOT NULL,
            scopes TEXT NOT NULL,
            dynamic INTEGER NOT NULL,
            metadata TEXT NOT NULL DEFAULT '{}',
            created_at INTEGER NOT NULL
        ) STRICT""",
        # A grant is what one consent gave; all tokens that follow from it are its family and end with it.
        """CREATE TABLE oauth_grants (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            client TEXT NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
            scopes TEXT NOT NULL,
            resource TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER,
            last_used_at INTEGER
        ) STRICT""",
        "CREATE INDEX oauth_grants_by_account ON oauth_grants (account)",
        "CREATE INDEX oauth_grants_by_client ON oauth_grants (client)",
        """CREATE TABLE oauth_codes (
            digest BLOB PRIMARY KEY,
            family INTEGER NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
            redirect_uri TEXT NOT NULL,
            redirect_uri_given INTEGER NOT NULL,
            challenge TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            used_at INTEGER
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE oauth_tokens (
            digest BLOB PRIMARY KEY,
            family INTEGER NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
            scopes TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            used_at INTEGER
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX oauth_tokens_by_family ON oauth_tokens (family)",
        """CREATE TABLE sessions (
            digest BLOB PRIMARY KEY,
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            token INTEGER REFERENCES access_tokens ON DELETE CASCADE,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID""",
        "CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
        "INSERT INTO keys VALUES ('pages', randomblob(32))",
    ),
)

# Times of conversations are in milliseconds, since several things happen within a second.
_CONVERSATIONS = Migration(
    "deep search conversations",
    (
        """CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            title TEXT NOT NULL,
            digest BLOB NOT NULL UNIQUE,
            generation INTEGER NOT NULL DEFAULT 1,
            shared INTEGER NOT NULL DEFAULT 0,
            starred INTEGER NOT NULL DEFAULT 0,
            created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL
        ) STRICT""",
        "CREATE INDEX conversations_by_account ON conversations (account, updated_ms)",
        """CREATE TABLE questions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
            position INTEGER NOT NULL,
            text TEXT NOT NULL,
            filters TEXT NOT NULL DEFAULT '',
            status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'error', 'canceled')),
            researcher TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '',
            segments TEXT NOT NULL DEFAULT '[]',
            tables TEXT NOT NULL DEFAULT '[]',
            followups TEXT NOT NULL DEFAULT '[]',
            stats TEXT NOT NULL DEFAULT '{}',
            error TEXT NOT NULL DEFAULT '{}',
            created_ms INTEGER NOT NULL,
            started_ms INTEGER,
            finished_ms INTEGER,
            boot TEXT NOT NULL DEFAULT '',
            UNIQUE (conversation, position)
        ) STRICT""",
        """CREATE UNIQUE INDEX one_question_at_a_time ON questions (conversation)
            WHERE status IN ('pending', 'processing')""",
        """CREATE TABLE question_pins (
            question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
            repository TEXT NOT NULL,
            revision TEXT NOT NULL,
            commit_id TEXT NOT NULL,
            PRIMARY KEY (question, repository, revision, commit_id)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE question_events (
            question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
            number INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at_ms INTEGER NOT NULL,
            payload TEXT NOT NULL,
            PRIMARY KEY (question, number)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE question_sources (
            question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
            number INTEGER NOT NULL,
            type TEXT NOT NULL,
            label TEXT NOT NULL,
            link TEXT NOT NULL,
            repository TEXT NOT NULL,
            commit_id TEXT NOT NULL,
            path TEXT NOT NULL,
            begin_line INTEGER NOT NULL,
            end_line INTEGER NOT NULL,
            role TEXT NOT NULL DEFAULT '',
            status TEXT NOT NULL DEFAULT '',
            quote BLOB,
            PRIMARY KEY (question, number)
        ) STRICT, WITHOUT ROWID""",
        "INSERT INTO keys VALUES ('conversations', randomblob(32))",
    ),
)

_ATTEMPTS = Migration(
    "attempts to sign in",
    (
        # The digest is keyed: what was typed as an account's name may have been a password.
        """CREATE TABLE attempts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            digest BLOB NOT NULL,
            ends_ms INTEGER NOT NULL
        ) STRICT""",
        "CREATE INDEX attempts_by_digest ON attempts (digest, ends_ms)",
        "CREATE INDEX attempts_by_end ON attempts (ends_ms)",
    ),
)


def _audit(table: str, event: str, action: str, subject: str, condition: str = "") -> str:
    """Return the trigger that logs a change of `table` in the same transaction."""
    name = "audit_" + "".join(letter if letter.isalnum() else "_" for letter in f"{table}_{action}")
    when = f" WHEN {condition}" if condition else ""
    return (
        f"CREATE TRIGGER {name} AFTER {event} ON {table}{when} BEGIN "  # noqa: S608 - all are texts of this module
        "INSERT INTO audit (at, actor, action, subject) "
        f"SELECT unixepoch(), (SELECT name FROM actor), '{action}', {subject}; END"
    )


def _name(table: str, row: str, column: str) -> str:
    """Return the SQL for the name that a column refers to; its number if the row is deleted."""
    return f"ifnull((SELECT name FROM {table} WHERE id = {row}.{column}), 'number ' || {row}.{column})"  # noqa: S608 - as above


_GRANTEE = (
    "{row}.repository || ' to ' || CASE WHEN {row}.account IS NULL THEN 'role ' || "
    + _name("roles", "{row}", "role")
    + " ELSE "
    + _name("accounts", "{row}", "account")
    + " END"
)
_AUDIT = Migration(
    "a log of changes that is only appended to",
    (
        # Who writes at this moment; empty where something else than sourcelight does.
        "CREATE TABLE actor (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT",
        "INSERT INTO actor VALUES (1, '')",
        """CREATE TABLE audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            actor TEXT NOT NULL,
            action TEXT NOT NULL,
            subject TEXT NOT NULL
        ) STRICT""",
        """CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
            BEGIN SELECT raise(ABORT, 'the audit log is only appended to'); END""",
        """CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
            BEGIN SELECT raise(ABORT, 'the audit log is only appended to'); END""",
        _audit("accounts", "INSERT", "account created", "NEW.name"),
        _audit("accounts", "DELETE", "account deleted", "OLD.name"),
        _audit("accounts", "UPDATE OF password", "password changed", "NEW.name"),
        _audit("roles", "INSERT", "role created", "NEW.name"),
        _audit("roles", "DELETE", "role deleted", "OLD.name"),
        _audit("role_permissions", "INSERT", "permission allowed",
                 "NEW.permission || ' to ' || " + _name("roles", "NEW", "role")),
        _audit("role_permissions", "DELETE", "permission disallowed",
                 "OLD.permission || ' to ' || " + _name("roles", "OLD", "role")),
        _audit("account_roles", "INSERT", "role assigned",
                 _name("roles", "NEW", "role") + " || ' to ' || " + _name("accounts", "NEW", "account")),
        _audit("account_roles", "DELETE", "role unassigned",
                 _name("roles", "OLD", "role") + " || ' to ' || " + _name("accounts", "OLD", "account")),
        _audit("repository_grants", "INSERT", "repository granted", _GRANTEE.format(row="NEW")),
        _audit("repository_grants", "DELETE", "repository revoked", _GRANTEE.format(row="OLD")),
        _audit("access_tokens", "INSERT", "token created",
                 "'token:' || NEW.id || ' of ' || " + _name("accounts", "NEW", "account") + " || ', ' || NEW.scopes"),
        _audit("access_tokens", "UPDATE OF revoked_at", "token revoked", "'token:' || NEW.id",
                 "NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL"),
        _audit("access_tokens", "DELETE", "token deleted", "'token:' || OLD.id"),
        # Clients that register themselves are anyone's doing, and must not fill the log.
        _audit("oauth_clients", "INSERT", "client created", "NEW.id", "NEW.dynamic = 0"),
        _audit("oauth_clients", "DELETE", "client deleted", "OLD.id", "OLD.dynamic = 0"),
        _audit("oauth_grants", "INSERT", "client allowed",
                 "'oauth:' || NEW.id || ' by ' || " + _name("accounts", "NEW", "account") + " || ' to ' || NEW.client"),
        _audit("oauth_grants", "UPDATE OF revoked_at", "access of a client ended", "'oauth:' || NEW.id",
                 "NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL"),
        _audit("oauth_grants", "DELETE", "access of a client deleted", "'oauth:' || OLD.id"),
        _audit("oauth_tokens", "INSERT", "token of a client issued", "'oauth:' || NEW.family || ', ' || NEW.kind"),
        _audit("sessions", "INSERT", "signed in", _name("accounts", "NEW", "account")),
    ),
)  # fmt: skip

# A grant of an earlier version names a repository and no place: the next start of a service ties it to one.
_PLACES = Migration(
    "places of repositories",
    (
        """CREATE TABLE repositories (
            place TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            claim TEXT NOT NULL,
            origin TEXT NOT NULL,
            visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private', 'undecided')),
            seen_at INTEGER NOT NULL
        ) STRICT""",
        "CREATE INDEX repositories_by_name ON repositories (name)",
        "CREATE INDEX repositories_by_claim ON repositories (claim)",
        "CREATE TABLE private_roots (root TEXT PRIMARY KEY, declared_at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
        """CREATE TABLE repository_settings (
            path TEXT PRIMARY KEY,
            text TEXT NOT NULL,
            read_at INTEGER NOT NULL
        ) STRICT""",
        "ALTER TABLE repository_grants ADD COLUMN place TEXT NOT NULL DEFAULT ''",
        "DROP INDEX grants_of_accounts",
        "DROP INDEX grants_of_roles",
        """CREATE UNIQUE INDEX grants_of_accounts
            ON repository_grants (account, place, (CASE place WHEN '' THEN repository ELSE '' END))
            WHERE account IS NOT NULL""",
        """CREATE UNIQUE INDEX grants_of_roles
            ON repository_grants (role, place, (CASE place WHEN '' THEN repository ELSE '' END))
            WHERE role IS NOT NULL""",
        _audit("repositories", "UPDATE OF name", "repository renamed", "OLD.name || ' to ' || NEW.name",
                 "OLD.name <> NEW.name"),
        _audit("repositories", "UPDATE OF visibility", "visibility of a repository changed",
                 "NEW.name || ' to ' || NEW.visibility", "OLD.visibility <> NEW.visibility"),
        _audit("repositories", "DELETE", "repository forgotten", "OLD.name"),
    ),
)  # fmt: skip

_DEVICES = Migration(
    "sign-in of devices",
    (
        """CREATE TABLE device_codes (
            digest BLOB PRIMARY KEY,
            user_code TEXT NOT NULL UNIQUE,
            client TEXT NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
            scopes TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            interval_s INTEGER NOT NULL,
            polled_at REAL,
            decision TEXT CHECK (decision IN ('allow', 'deny')),
            account INTEGER REFERENCES accounts ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX device_codes_by_client ON device_codes (client)",
        "CREATE INDEX device_codes_by_account ON device_codes (account)",
    ),
)

# The scope of a question as data: passed with it, and read from its text. NULL: not known.
_SCOPES = Migration(
    "scopes of questions",
    ("ALTER TABLE questions ADD COLUMN asked TEXT", "ALTER TABLE questions ADD COLUMN named TEXT"),
)

_SAVED_ANSWERS = Migration(
    "saved answers of searches",
    (
        """CREATE TABLE saved_answers (
            token TEXT NOT NULL UNIQUE,
            account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
            query TEXT NOT NULL,
            pattern_type TEXT NOT NULL,
            facts TEXT NOT NULL,
            rows BLOB NOT NULL,
            saved_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT""",
        "CREATE INDEX saved_answers_by_account ON saved_answers (account)",
        "CREATE INDEX saved_answers_by_expiry ON saved_answers (expires_at)",
    ),
)

MIGRATIONS: tuple[Migration, ...] = (
    _ACCOUNTS, _OAUTH, _CONVERSATIONS, _ATTEMPTS, _AUDIT, _PLACES, _DEVICES, _SCOPES, _SAVED_ANSWERS,
)  # fmt: skip
