"""The least-recently-used cache, compared with a plain list that does the same."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.caching import IdentityCache, LruCache

OPERATIONS = st.lists(st.tuples(st.sampled_from(["get", "put", "pop"]), st.integers(0, 6), st.integers(0, 9)))


class ListCache:
    """Keys and weights in the order of their last use."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.items: list[tuple[int, int]] = []
        self.evicted: list[tuple[int, int]] = []

    def get(self, key: int) -> int | None:
        for item in self.items:
            if item[0] == key:
                self.items.remove(item)
                self.items.append(item)
                return item[1]
        return None

    def pop(self, key: int) -> int | None:
        value = self.get(key)
        if value is not None:
            self.items.pop()
        return value

    def put(self, key: int, value: int) -> None:
        self.pop(key)
        self.items.append((key, value))
        while sum(min(weight, self.max_size) for _, weight in self.items) > self.max_size:
            self.evicted.append(self.items.pop(0))


@given(OPERATIONS, st.integers(1, 12))
def test_a_weighted_cache_holds_what_was_used_last(operations: list[tuple[str, int, int]], max_size: int) -> None:
    evicted: list[tuple[int, int]] = []
    cache: LruCache[int, int] = LruCache(
        max_size, weigh=lambda value: value, on_evict=lambda key, value: evicted.append((key, value))
    )
    list_cache = ListCache(max_size)
    for operation, key, value in operations:
        if operation == "put":
            # Replaced in both: which entries make room for a larger value of the same key is left open.
            cache.pop(key)
            cache.put(key, value)
            list_cache.put(key, value)
        else:
            assert getattr(cache, operation)(key) == getattr(list_cache, operation)(key)
    assert sorted(cache.values()) == sorted(value for _, value in list_cache.items)
    assert evicted == list_cache.evicted


@given(OPERATIONS, st.integers(1, 8))
def test_without_weights_values_are_counted(operations: list[tuple[str, int, int]], max_size: int) -> None:
    cache: LruCache[int, str] = LruCache(max_size)
    keys: list[int] = []
    for _, key, value in operations:
        cache.put(key, str(value))
        keys = [*(item for item in keys if item != key), key][-max_size:]
        assert len(cache) == len(keys)
        assert all(item in cache for item in keys)


def test_a_value_above_the_whole_size_stays_until_the_next_one() -> None:
    cache: LruCache[str, bytes] = LruCache(10, weigh=len)
    cache.put("small", b"1")
    cache.put("huge", b"x" * 100)
    assert cache.get("huge") == b"x" * 100
    assert cache.get("small") is None
    cache.put("small", b"1")
    assert cache.get("huge") is None


def test_a_value_of_none_is_made_once() -> None:
    calls: list[int] = []
    cache: LruCache[str, None] = LruCache(2)
    for _ in range(3):
        cache.get_or_make("key", lambda: calls.append(1))
    assert calls == [1]


def test_a_value_that_is_not_kept_is_made_again() -> None:
    cache: LruCache[str, int] = LruCache(2)
    assert cache.get_or_make("key", lambda: 1, keep=lambda value: value > 1) == 1
    assert cache.get_or_make("key", lambda: 2, keep=lambda value: value > 1) == 2
    assert cache.get_or_make("key", lambda: 3) == 2


def test_making_a_value_may_use_the_cache() -> None:
    cache: LruCache[str, int] = LruCache(4)
    assert cache.get_or_make("sum", lambda: cache.get_or_make("a", lambda: 1) + cache.get_or_make("b", lambda: 2)) == 3
    assert sorted(cache.values()) == [1, 2, 3]


def test_what_is_evicted_may_be_dropped_from_another_cache() -> None:
    engines: LruCache[tuple[str, int], str] = LruCache(9)
    generations: LruCache[str, str] = LruCache(
        1, on_evict=lambda name, _: engines.discard_where(lambda key: key[0] == name)
    )
    generations.put("a", "")
    engines.put(("a", 1), "")
    engines.put(("b", 1), "")
    generations.put("b", "")
    assert ("a", 1) not in engines
    assert ("b", 1) in engines
    engines.clear()
    assert len(engines) == 0


def test_threads_share_a_cache() -> None:
    cache: LruCache[int, int] = LruCache(8, weigh=lambda value: value % 3)
    wrong: list[int] = []

    def use(seed: int) -> None:
        for step in range(2000):
            key = (seed * 31 + step * 7) % 20
            if cache.get_or_make(key, lambda key=key: key * 3 + 1) != key * 3 + 1:  # type: ignore[misc]  # mypy infers no type for a default of a lambda
                wrong.append(key)
            if step % 50 == 0:
                cache.discard_where(lambda key: key % 2 == 0)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(cache) <= 8


def test_a_value_is_that_of_one_object_and_not_of_its_equal() -> None:
    cache: IdentityCache[list[int], str] = IdentityCache(2)
    first, equal = [1], [1]
    cache.put(first, "first")
    assert (cache.get(first), cache.get(equal), cache.get(first, "other")) == ("first", None, None)
    cache.put(first, "other value", "other")
    assert (cache.get(first), cache.get(first, "other")) == ("first", "other value")


def test_an_object_with_the_id_of_one_that_is_gone_gets_no_value_of_it() -> None:
    cache: IdentityCache[list[int], int] = IdentityCache(4)
    for number in range(100):
        owner = [number]  # the same id again and again, unless the cache holds the object
        assert cache.get(owner) is None
        cache.put(owner, number)
        del owner
