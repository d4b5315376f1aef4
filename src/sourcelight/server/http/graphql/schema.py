"""The part of the public GraphQL API that this service answers, and its executable form.

Names, arguments and nullability follow the public API, so that stock clients work unchanged. A field is written
in snake_case on the Python side; `executable_schema` joins the two spellings.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from graphql import GraphQLEnumType, GraphQLObjectType, GraphQLSchema, build_schema

DEFINITION = '''
"""A date and time, RFC 3339."""
scalar DateTime

enum SearchVersion { V1 V2 V3 }
enum SearchPatternType { standard literal regexp structural lucky keyword codycontext }
enum RepositoryOrderBy { REPOSITORY_NAME REPOSITORY_CREATED_AT SIZE REPO_CREATED_AT }
enum SymbolKind {
  UNKNOWN FILE MODULE NAMESPACE PACKAGE CLASS METHOD PROPERTY FIELD CONSTRUCTOR ENUM INTERFACE FUNCTION VARIABLE
  CONSTANT STRING NUMBER BOOLEAN ARRAY OBJECT KEY NULL ENUMMEMBER STRUCT EVENT OPERATOR TYPEPARAMETER
}

type Query {
  """The account of the request; null without a credential."""
  currentUser: User
  site: Site!
  """Matches of a query. Without count: in the query it stops at 30."""
  search(version: SearchVersion = V3, patternType: SearchPatternType, query: String = ""): Search
  """A repository by name; null if there is none that the caller may see."""
  repository(name: String, cloneURL: String): Repository
  """The repositories that the caller may see, by name."""
  repositories(
    first: Int, after: String, query: String, names: [String!], cloned: Boolean = true, notCloned: Boolean = true,
    indexed: Boolean = true, notIndexed: Boolean = true, orderBy: RepositoryOrderBy = REPOSITORY_NAME,
    descending: Boolean = false
  ): RepositoryConnection!
}

type User { id: ID! username: String! displayName: String databaseID: Int! siteAdmin: Boolean! url: String! }
type Site { id: ID! productVersion: String! buildVersion: String! hasCodeIntelligence: Boolean! }

type PageInfo { endCursor: String hasNextPage: Boolean! }
type RepositoryConnection { nodes: [Repository!]! totalCount(precise: Boolean = false): Int pageInfo: PageInfo! }

type Repository {
  id: ID!
  name: String!
  url: String!
  description: String!
  language: String!
  isFork: Boolean!
  isArchived: Boolean!
  isPrivate: Boolean!
  stars: Int!
  createdAt: DateTime!
  updatedAt: DateTime
  viewerCanAdminister: Boolean!
  label: Markdown!
  detail: Markdown!
  externalURLs: [ExternalLink!]!
  externalRepository: ExternalRepository!
  keyValuePairs: [KeyValuePair!]!
  mirrorInfo: MirrorRepositoryInfo!
  defaultBranch: GitRef
  """A commit by revision: a branch, a tag, a commit id; null if there is none."""
  commit(rev: String!, inputRevspec: String): GitCommit
}

type ExternalLink { url: String! serviceType: String serviceKind: String }
type ExternalRepository { id: String! serviceType: String! serviceID: String! }
type KeyValuePair { key: String! value: String }
type MirrorRepositoryInfo { cloned: Boolean! cloneInProgress: Boolean! updatedAt: DateTime }
type GitObject { oid: String! commit: GitCommit }
type GitRef { name: String! displayName: String! abbrevName: String! target: GitObject! repository: Repository! }
type Markdown { text: String! html: String! }
type Person { name: String! displayName: String! email: String! }
type Signature { person: Person! date: String! }

type GitCommit {
  id: ID!
  oid: String!
  abbreviatedOID: String!
  repository: Repository!
  url: String!
  canonicalURL: String!
  message: String!
  subject: String!
  body: String
  author: Signature!
  committer: Signature
  parents: [GitCommit!]!
  blob(path: String!): GitBlob
  file(path: String!): GitBlob
  tree(path: String = "", recursive: Boolean = false): GitTree
}

interface TreeEntry { name: String! path: String! url: String! canonicalURL: String! isDirectory: Boolean! }

type GitBlob implements TreeEntry {
  name: String!
  path: String!
  url: String!
  canonicalURL: String!
  isDirectory: Boolean!
  byteSize: Int!
  totalLines: Int!
  binary: Boolean!
  languages: [String!]!
  """Text of the file, or its lines from startLine to endLine; both count from 1 and are included."""
  content(startLine: Int, endLine: Int): String!
  commit: GitCommit!
  repository: Repository!
}

type GitTree implements TreeEntry {
  name: String!
  path: String!
  url: String!
  canonicalURL: String!
  isDirectory: Boolean!
  isRoot: Boolean!
  entries(first: Int, recursive: Boolean = false): [TreeEntry!]!
  files(first: Int, recursive: Boolean = false): [GitBlob!]!
  directories(first: Int, recursive: Boolean = false): [GitTree!]!
  commit: GitCommit!
  repository: Repository!
}

type Search { results: SearchResults! }

type SearchResults {
  results: [SearchResult!]!
  matchCount: Int!
  resultCount: Int!
  approximateResultCount: String!
  limitHit: Boolean!
  elapsedMilliseconds: Int!
  repositoriesCount: Int!
  repositories: [Repository!]!
  cloning: [Repository!]!
  missing: [Repository!]!
  timedout: [Repository!]!
  indexUnavailable: Boolean!
  alert: SearchAlert
  dynamicFilters: [SearchFilter!]!
}

type SearchAlert { title: String! description: String proposedQueries: [SearchQueryDescription!] }
type SearchQueryDescription { description: String query: String! }
type SearchFilter { value: String! label: String! count: Int! limitHit: Boolean! kind: String! }

union SearchResult = FileMatch | CommitSearchResult | Repository

type FileMatch {
  repository: Repository!
  file: GitBlob!
  lineMatches: [LineMatch!]!
  chunkMatches: [ChunkMatch!]!
  symbols: [Symbol!]!
  limitHit: Boolean!
}

type LineMatch { preview: String! lineNumber: Int! offsetAndLengths: [[Int!]!]! limitHit: Boolean! }
type Position { line: Int! character: Int! }
type Range { start: Position! end: Position! }
type ChunkMatch { content: String! contentStart: Position! ranges: [Range!]! }
type Location { url: String! canonicalURL: String! resource: GitBlob! range: Range }
type Symbol {
  name: String! containerName: String kind: SymbolKind! language: String! url: String! canonicalURL: String!
  fileLocal: Boolean! location: Location!
}

type Highlight { line: Int! character: Int! length: Int! }
type HighlightedString { value: String! highlights: [Highlight!]! }
type SearchResultMatch { url: String! body: Markdown! highlights: [Highlight!]! }
type CommitSearchResult {
  label: Markdown!
  detail: Markdown!
  url: String!
  commit: GitCommit!
  matches: [SearchResultMatch!]!
  messagePreview: HighlightedString
  diffPreview: HighlightedString
}
'''

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_NAMES = {"GitRepository": "Repository"}
"""GraphQL types whose class here has another name, since the package has a `Repository` already."""


def snake_case(name: str) -> str:
    """Return a GraphQL name as Python spells it: ``externalURLs`` is ``external_urls``."""
    return _CAPITAL.sub("_", name.replace("URLs", "Urls")).lower()


@cache
def executable_schema() -> GraphQLSchema:
    """Return the schema whose arguments have Python's names."""
    schema = build_schema(DEFINITION)
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLObjectType) and not kind.name.startswith("__"):
            for field in kind.fields.values():
                for name, argument in field.args.items():
                    argument.out_name = snake_case(name)
    return schema


@cache
def symbol_kinds() -> frozenset[str]:
    """Return the names of ``SymbolKind``."""
    kinds = executable_schema().type_map["SymbolKind"]
    assert isinstance(kinds, GraphQLEnumType)  # noqa: S101 - narrows for the type checker
    return frozenset(kinds.values)


def resolve_field(source: Any, info: Any, **arguments: Any) -> Any:
    """Read a field: an attribute of its Python name, called with its arguments where it is a method."""
    value = getattr(source, snake_case(info.field_name))
    return value(**arguments) if callable(value) else value


def resolve_type(source: Any, *_: Any) -> str:
    """Return the GraphQL type of an object: the name of its class."""
    name = type(source).__name__
    return _NAMES.get(name, name)
