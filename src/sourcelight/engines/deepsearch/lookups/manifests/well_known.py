"""Names of well-known packages by what they are for.

A manifest doesn't say what a package is for. A sentence says only that a manifest lists it.
"""

from __future__ import annotations

from collections.abc import Mapping

_TEST_TEXT = """
@playwright/test @web/test-runner alcotest atoum ava bats bats-core boost-test busted buttercup catch2 check cmocka
codeception criterion cypress doctest elm-explorations/test ert-runner ex_unit expecto flutter_test ginkgo googletest
gtest hspec hunit jasmine jasmine-core jest junit junit-jupiter junit-jupiter-api junit4 kaocha karma kotest
kotest-runner-junit5 luaunit midje minitest minitest-rails mocha mstest.testframework munit nimble nose nose2 nunit
ounit ounit2 pest phpunit playwright ppx_inline_test proper pytest quick qunit rspec rspec-core rstest scalacheck
scalatest specs2 specs2-core spectator spock-core swift-testing tap tape tasty test-more test-unit testament testify
testng unittest2 unity utest uvu vitest weaver-cats web-test-runner xunit zunit
"""
_LOGGING_TEXT = """
bunyan chronicles co-log cocoalumberjack consola debug env_logger fast-logger fern glog katip kotlin-logging lager log
log4j log4j-api log4j-core log4js log4net logback logback-classic logbook logger logging loglevel logr lograge logrus
logs loguru lualogging monolog nlog pino scala-logging scribe semantic_logger serilog signale slf4j-api slog spdlog
structlog swift-log swiftybeaver timber timbre tracing winston zap zerolog
"""
_LINT_TEXT = """
ameba @biomejs/biome ansible-lint biome checkstyle clj-kondo credo detekt eslint flake8 flutter_lints golangci-lint
hlint jshint ktlint lints luacheck oxlint php_codesniffer phpcs phpstan psalm pycodestyle pylint rubocop ruff
squizlabs/php_codesniffer standard standardrb stylecop.analyzers stylelint swiftlint tslint xo yamllint
"""
_FORMAT_TEXT = """
@biomejs/biome autopep8 biome black cljfmt dprint elm-format fourmolu friendsofphp/php-cs-fixer gofumpt ktfmt
ocamlformat ormolu oxfmt php-cs-fixer prettier ruff rufo scalafmt scalafmt-core spotless swiftformat yapf
"""
_CLI_TEXT = """
arg argh argparse args args4j cac caporal citty clap cli cli11 click cligen clikt clipanion cmdargs cmdliner cobra
commander commandlineparser commons-cli cxxopts decline docopt docopt.nim getopt-long go-flags gumdrop jcommander
jopt-simple kingpin lapp lexopt mainargs mcmaster.extensions.commandlineutils meow minimist oclif optimist
optparse-applicative pflag pico-args picocli scopt slop structopt swift-argument-parser symfony/console
system.commandline thor tools.cli typer urfave/cli yargs
"""
_MOCK_TEXT = """
easymock fakeiteasy gomock jmock meck mimic mocha mock mockall mockery mockery/mockery mockito mockito-core
mockito-kotlin mockk mocktail moq mox msw nock nsubstitute powermock prophecy pytest-mock requests-mock responses
respx rr sinon testdouble trompeloeil ts-mockito vcr webmock wiremock
"""
_COVERAGE_TEXT = """
@vitest/coverage-istanbul @vitest/coverage-v8 c8 cluacov codecov coverage coverlet.collector coverlet.msbuild
excoveralls istanbul jacoco jacoco-maven-plugin kover luacov nyc pytest-cov sbt-scoverage scoverage simplecov
tarpaulin
"""
_BENCHMARK_TEXT = """
asv benchee benchmark benchmark-ips benchmarkdotnet benchmarktools benny criterion divan gauge google-benchmark iai
iai-callgrind jmh jmh-core mitata phpbench phpbench/phpbench pytest-benchmark tasty-bench tinybench
"""
_BUNDLE_TEXT = """
@swc/core browserify esbuild microbundle parcel rolldown rollup rspack swc tsdown tsup turbopack unbuild vite webpack
"""
_TYPES_TEXT = """
dialyxir flow-bin mypy phpstan psalm pyright pytype rbs sorbet steep ty typescript
"""
_HTTP_TEXT = """
aiohttp alamofire async-http-client axios clj-http cpr curl dio faraday finch flurl.http got gun guzzle
guzzlehttp/guzzle hackney http http-client http-conduit http.rb httparty httpclient httpclient5 httpoison httpx hyper
isahc ky libcurl node-fetch okhttp refit req request requests reqwest restsharp resty retrofit sttp superagent tesla
typhoeus undici ureq urllib3 wreq
"""
_JSON_TEXT = """
aeson cheshire circe-core cjson data.json dkjson easyjson fastjson fastjson2 gson jackson-databind jansson jason jiffy
json json-c json-simple json4s jsonista jsoniter jsx kotlinx-serialization-json lua-cjson moshi multi_json
newtonsoft.json nlohmann-json nlohmann_json oj orjson play-json poison rapidjson serde_json simd-json simplejson sonic
spray-json system.text.json ujson upickle yojson
"""
_YAML_TEXT = """
goccy/go-yaml js-yaml libyaml lyaml psych pyyaml ruamel-yaml ruamel.yaml serde_yaml snakeyaml symfony/yaml yamerl yaml
yaml-cpp yaml.v2 yaml.v3 yamldotnet yams
"""
_WEB_TEXT = """
@hapi/hapi @nestjs/core actix-web aiohttp axum bottle chi compojure cowboy django echo express falcon fastapi fastify
fiber flask gin gorilla/mux grape hanami hapi hono javalin jester kemal koa ktor-server-core lapis laravel/framework
mojolicious next nuxt phoenix plug prologue rails ring-core rocket roda sanic scotty servant sinatra slim/slim
spring-boot-starter-web starlette symfony/framework-bundle tornado vapor warp yesod
"""
_ORM_TEXT = """
@prisma/client activerecord diesel django doctrine/orm doobie-core drizzle-orm ebean ecto eloquent ent exposed-core
fluent gorm granite hibernate hibernate-core jooq knex mikro-orm objection peewee persistent prisma rom sea-orm sequel
sequelize slick sqlalchemy sqlx tortoise-orm typeorm xorm
"""
_UI_TEXT = """
@angular/core angular blessed bubbletea crossterm cursive egui electron gtk gtk4 iced ink lit preact ratatui react
solid-js svelte tauri textual tui tview urwid vue
"""
_ASYNC_TEXT = """
amphp/amp anyio async async-std chronos eio gevent lwt react/event-loop revolt/event-loop smol tokio trio
"""

WELL_KNOWN: Mapping[str, frozenset[str]] = {
    "test": frozenset(_TEST_TEXT.split()),
    "logging": frozenset(_LOGGING_TEXT.split()),
    "lint": frozenset(_LINT_TEXT.split()),
    "format": frozenset(_FORMAT_TEXT.split()),
    "cli": frozenset(_CLI_TEXT.split()),
    "mock": frozenset(_MOCK_TEXT.split()),
    "coverage": frozenset(_COVERAGE_TEXT.split()),
    "benchmark": frozenset(_BENCHMARK_TEXT.split()),
    "bundle": frozenset(_BUNDLE_TEXT.split()),
    "types": frozenset(_TYPES_TEXT.split()),
    "http": frozenset(_HTTP_TEXT.split()),
    "json": frozenset(_JSON_TEXT.split()),
    "yaml": frozenset(_YAML_TEXT.split()),
    "web": frozenset(_WEB_TEXT.split()),
    "orm": frozenset(_ORM_TEXT.split()),
    "ui": frozenset(_UI_TEXT.split()),
    "async": frozenset(_ASYNC_TEXT.split()),
}
"""Names in lower case, by the purposes that questions are read for."""
