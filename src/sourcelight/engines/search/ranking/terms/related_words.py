"""Words that mean nearly the same in programs, for questions in words that the code doesn't have.

A question asks where a *folder* is *removed*, and the code has ``delete_dir``. A text that the code may repeat, such as
a sentence of its documentation, needs none of these words.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Mapping

from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form, stem

RELATED_WEIGHT = 0.3
"""Factor of a related word: a chunk with the word of the question itself should stay better."""

_SHORT_FORMS = """
absolute abs, address addr, administrator admin, algorithm algo, allocate alloc, alternative alt, application app,
argument arg args, array arr, assign assignment, asynchronous async, attribute attr attrs,
authenticate authentication auth authorize authorization, background bg, binary bin, boolean bool, buffer buf,
calculate calc compute, certificate cert, channel chan, character char chars, checksum crc digest hash,
class cls klass, column col, command cmd cli, compare cmp comparison, compile compiler, concatenate concat,
condition cond, configuration configure config cfg conf settings, connection conn connect, constant const,
context ctx, control ctrl, coordinate coord, copy cp, current cur curr, database db, debug dbg,
declare decl declaration, default dflt, define def definition, delete del, dependency dep deps, descriptor fd,
description desc, destination dest dst, development dev, device dev, dictionary dict, difference diff, dimension dim,
directory dir folder dirname, display disp, distribution dist, document doc docs, element elem,
environment env environ, error err, evaluate eval, exception exc, execute exec, expression expr, extension ext,
external ext, file fp filename, frequency freq, function func fn, generate gen generator, group grp, handler hdlr,
identifier id ident, image img, implementation impl, increment inc incr, index idx, information info, initialize init,
input inp, insert ins, instance inst, integer int, interface iface, interpolate interp, iterate iter iterator,
language lang, length len, library lib, location loc, manager mgr, maximum max, memory mem, message msg, minimum min,
miscellaneous misc, module mod, number num, object obj, operation op oper, operator op, option opt opts,
original orig, package pkg, parameter param params, parenthesis paren, password passwd pwd pass, pattern pat,
permission perm, picture pic pict, pixel px, pointer ptr, position pos, previous prev, process proc, processor proc,
production prod, program prog, property prop props, protocol proto, random rand rnd, receive recv, record rec,
reference ref refs, register reg registry, regular regex regexp re, relative rel, remove rm, repository repo,
request req, resource res, response resp, return ret, revision rev, select sel, separator sep, sequence seq,
server srv, session sess, specification spec, standard std, statement stmt, statistic stat stats, string str,
structure struct, subscribe sub, symbol sym, synchronize sync synchronous, system sys, table tbl, template tmpl,
temporary temp tmp, terminal term tty, text txt, thread thr, timestamp ts, token tok, transaction txn tx,
transform xform, unicode utf, utility util utils, value val, variable var vars, vector vec, version ver, volume vol,
whitespace ws, window win
"""
"""Groups of words and their short forms: each word is related to all others of its group."""

_RELATED = """
again: retry repeat, retry: attempt try backoff, repeat: again, allow: permit accept,
forbid: disallow deny prohibit block, refuse: reject deny, skip: ignore exclude omit, ignore: skip exclude,
exclude: ignore skip, remove: delete drop discard, delete: remove erase drop, discard: drop remove delete,
clean: cleanup clear purge, purge: evict clear expire, evict: purge expire, find: search lookup locate discover,
look: lookup, search: find lookup query, discover: detect find, create: make build new construct, make: create build,
build: create construct make, check: validate verify ensure, validate: check verify valid, verify: check validate,
decide: choose select determine, choose: select pick, pick: choose select, determine: infer guess detect,
recognize: detect identify, recognise: detect identify, guess: infer detect, start: begin launch run,
launch: start spawn run, spawn: launch fork start, stop: terminate shutdown kill exit, terminate: kill stop shutdown,
interrupt: cancel abort kill, cancel: abort, abort: cancel, finish: complete done end, end: stop finish close,
limit: max throttle cap, throttle: rate limit, wait: sleep delay block, delay: wait sleep timeout,
timeout: deadline expire, expire: timeout ttl stale, old: stale expired legacy, setting: config option,
error: exception fail, failure: error exception fail, fail: error, crash: fail exit,
convert: transform translate cast, translate: convert map, turn: convert, transform: convert, encode: serialize dump,
decode: deserialize load, serialize: dump encode, parse: parser read, merge: combine join, combine: merge join concat,
join: merge concat, split: divide partition, divide: split, separate: split, show: display print render,
display: show render print, draw: render paint, print: write output, render: draw format, format: formatter,
save: store write persist dump, store: save persist, load: read open, read: load reader parse, write: writer save,
send: publish emit dispatch, publish: send emit, deliver: send dispatch, notify: callback event signal,
receive: recv get consume, fetch: download get retrieve, download: fetch, upload: put, replace: substitute,
substitute: replace, insert: add inject, add: append insert, append: add, escape: quote sanitize, quote: escape,
safe: sanitize secure, hide: mask redact, secret: password redact sensitive, protect: guard secure,
copy: clone duplicate, duplicate: copy unique, unique: uuid distinct, same: equal duplicate, equal: eq compare,
compare: equal diff, differ: diff compare, change: modify update, modify: change update, update: modify refresh,
reload: refresh restart, restart: reload respawn, rename: move, move: rename, link: symlink, symbolic: symlink,
parallel: concurrent thread pool, concurrent: parallel lock, simultaneous: concurrent parallel, lock: mutex acquire,
cache: memoize lru, size: length bytes, big: large max, small: min, slow: timeout, fast: speed, order: sort priority,
sort: order, priority: order weight, nested: recursive depth, recursive: nested, parent: base super,
child: children sub, user: account, login: auth authenticate, permission: access, access: permission,
missing: absent none default, empty: blank none, unknown: missing unsupported, unsupported: invalid,
invalid: error bad malformed, broken: invalid corrupt, corrupt: broken invalid damaged, wrong: invalid,
path: filename location, folder: path, number: count, count: number total, list: collect enumerate, collect: gather,
gather: collect, group: bundle, schedule: timer queue, periodic: interval timer, interval: period timer,
queue: backlog pending, pending: queue waiting, idle: timeout inactive, connect: open, disconnect: close lost,
lose: lost disconnect, close: shutdown, open: connect, unpickle: load deserialize, pickle: dump serialize,
compress: zip gzip, test: check assert, call: invoke, invoke: call, run: execute start, execute: run,
hook: callback plugin, plugin: hook extension backend, extension: suffix plugin, backend: engine driver,
method: function, install: setup, dependency: require, require: need dependency, warn: warning, log: logger,
measure: collect record, report: summary output, color: style, edit: modify, expand: resolve substitute,
resolve: lookup expand, register: add, unregister: remove, host: server address, server: host, date: time datetime,
memory: buffer, buffer: flush, flush: write, tokenize: lexer lex scanner, lexer: scanner tokenize, scan: lexer,
unpack: extract unzip decompress, extract: unpack, unzip: extract unpack, decompress: inflate gunzip,
shorten: truncate abbreviate, cut: truncate trim, crop: clip truncate, suggest: recommend similar propose,
typo: suggest spell, misspell: suggest spell, mistype: suggest spell, squeeze: compress, mail: email smtp,
email: mail smtp, stylesheet: css, css: stylesheet style, clickable: hyperlink, hyperlink: link, prompt: repl readline,
interactive: repl tty, confirm: prompt, postpone: defer delay, defer: delay postpone, background: async worker,
twice: duplicate, deep: depth nested, depth: deep nested, undo: revert rollback, revert: undo, uninstall: remove,
animation: gif, graph: plot chart, chart: plot graph, plot: graph chart, locale: i18n language, progress: spinner bar,
indentation: indent, highlight: color syntax, shape: geometry, slug: urlize slugify, throw: raise, top: hoist,
hoist: top, jitter: random, mock: fake stub, fake: mock stub, panic: recover, spelling: spell
"""
"""Words, and those that a programmer may write for them; the reverse needs an entry of its own."""

_SPELLINGS = {
    "is": "ize",
    "iz": "ise",
    "ys": "yze",
    "yz": "yse",
    "iour": "ior",
    "ior": "iour",
    "lour": "lor",
    "color": "colour",
}
_MIN_SPELLED = 5
"""Ends of terms that differ by spelling, in terms of this many letters or more: `normalis` of "normalised"."""
_IRREGULAR_TEXT = """
begun begin, bent bend, bitten bite, blown blow, bound bind, broken break, caught catch, chosen choose,
drawn draw, driven drive, dug dig, fallen fall, fed feed, felt feel, flown fly, forgotten forget, frozen freeze,
grown grow, hidden hide, hung hang, laid lay, lent lend, lit light, lost lose, meant mean, misspelt misspell,
overridden override, overwritten overwrite, paid pay, rebuilt rebuild, redone redo, redrawn redraw, resent resend,
rewritten rewrite, ridden ride, risen rise, said say, sent send, shown show, shrunk shrink, slept sleep,
slid slide, sold sell, sought seek, spelt spell, spent spend, spoken speak, spun spin, stolen steal, stuck stick,
swept sweep, swung swing, taught teach, thrown throw, told tell, torn tear, unbound unbind, understood understand,
undone undo, withdrawn withdraw, woken wake, worn wear, woven weave, written write
"""
_IRREGULAR = dict(entry.split() for entry in _IRREGULAR_TEXT.split(","))


def verb_of(word: str) -> str:
    """Return the verb of an irregular participle, such as ``write`` of ``written``; empty for another word."""
    return _IRREGULAR.get(word, "")


def _other_spelling(term: str) -> str:
    """Return the American spelling of a British term, or the British one of an American; empty for other terms."""
    if len(term) < _MIN_SPELLED:
        return ""
    ending = next((ending for ending in _SPELLINGS if term.endswith(ending)), "")
    return stem(term.removesuffix(ending) + _SPELLINGS[ending]) if ending else ""


def related_terms(terms: Mapping[str, float]) -> dict[str, float]:
    """Return the terms of words related to those of a question that are no terms of it, with their weights."""
    table = _table()
    weights: dict[str, float] = {}
    for term, weight in terms.items():
        if is_joined_form(term):
            continue
        spelling = _other_spelling(term)
        if spelling and spelling not in terms:
            weights[spelling] = weight
        for related in table.get(term, ()):
            if related not in terms:
                weights[related] = max(weights.get(related, 0.0), RELATED_WEIGHT * weight)

    return weights


def short_forms(term: str) -> tuple[str, ...]:
    """Return the terms of a word and its short forms, the whole word first; the term alone for a word without any."""
    return _groups().get(term, (term,))


@functools.lru_cache(maxsize=1)
def _groups() -> Mapping[str, tuple[str, ...]]:
    """Return the group of each term that is a word with short forms, or one of these; of several, the first."""
    groups: dict[str, tuple[str, ...]] = {}
    for text in _SHORT_FORMS.split(","):
        terms = tuple(dict.fromkeys(stem(word) for word in text.split()))
        for term in terms:
            groups.setdefault(term, terms)
    return groups


@functools.lru_cache(maxsize=1)
def _table() -> Mapping[str, Collection[str]]:
    """Return the related terms of each term."""
    # Dictionaries keep the order of the lists; sets of text would have another one in each process.
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in _SHORT_FORMS.split(","):
        terms = [stem(word) for word in group.split()]
        for term in terms:
            table[term] |= dict.fromkeys(other for other in terms if other != term)

    for word, verb in _IRREGULAR.items():
        table[stem(word)] |= {stem(verb): None}

    for entry in _RELATED.split(","):
        word, _, related_words = entry.partition(":")
        term = stem(word.strip())
        table[term] |= dict.fromkeys(other for other in map(stem, related_words.split()) if other != term)

    return table
