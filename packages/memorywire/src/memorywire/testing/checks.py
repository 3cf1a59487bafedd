"""The table of checks, each with the features that a store needs for it to apply."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from memorywire.model.capabilities import Feature
from memorywire.stores import contract
from memorywire.stores.contract import Store
from memorywire.testing import filters, history, optional, scopes, search, writes


class Check(Struct, frozen=True, kw_only=True):
    """A claim about a store; `run` raises unless it holds."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[Store], Awaitable[None]]
    ability: type | None = None
    """An optional protocol of the contract: the claim is about stores that have it."""


class Lasting(Struct, frozen=True, kw_only=True):
    """A claim about a store that is closed and opened again."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[optional.Opener], Awaitable[None]]


def _all(requires: set[Feature], *runs: Callable[[Store], Awaitable[None]]) -> tuple[Check, ...]:
    return tuple(Check(name=run.__name__, requires=frozenset(requires), run=run) for run in runs)


CHECKS: tuple[Check, ...] = (
    *_all(
        set(),
        writes.every_field_comes_back_as_it_was,
        writes.an_id_of_any_spelling_is_kept,
        writes.structured_content_keeps_its_shape,
        writes.an_object_that_looks_like_text_stays_an_object,
        writes.every_script_survives,
        writes.content_of_64_kib_is_kept,
        writes.large_metadata_is_kept,
        writes.numbers_keep_their_kind_and_every_digit,
        writes.what_is_kept_does_not_follow_the_callers_dict,
        writes.one_change_may_begin_many,
        writes.get_answers_in_the_order_asked,
        writes.asking_for_nothing_gives_nothing,
        writes.an_expired_memory_can_still_be_fetched_by_id,
        writes.a_new_version_replaces_the_old_one,
        writes.a_change_of_an_agent_may_begin_memories_of_its_users,
        writes.an_id_can_be_taken_once,
        writes.an_ended_id_stays_taken,
        writes.a_stale_version_cannot_be_put,
        writes.a_version_cannot_be_skipped,
        writes.what_is_not_there_cannot_be_revised_or_ended,
        writes.what_has_ended_cannot_be_revised,
        writes.what_is_live_cannot_be_restored,
        writes.ending_twice_conflicts,
        writes.ending_a_version_that_moved_conflicts,
        writes.an_ended_memory_is_gone_from_every_reader,
        writes.an_ended_memory_can_begin_again,
        writes.a_conflicting_end_undoes_the_puts_beside_it,
        writes.a_conflicting_put_undoes_everything_beside_it,
        writes.a_refused_change_may_be_tried_again,
        writes.writing_a_change_twice_changes_nothing,
        writes.a_change_written_twice_at_once_is_committed_once,
        writes.sequences_grow_with_every_change,
        writes.concurrent_writes_are_all_kept,
        writes.of_concurrent_revisions_exactly_one_wins,
        writes.a_conflict_does_not_disturb_the_writes_around_it,
        writes.a_write_is_seen_by_the_next_reader,
        scopes.another_tenant_sees_nothing,
        scopes.another_agent_sees_nothing,
        scopes.a_user_sees_exactly_its_own,
        scopes.a_request_without_user_sees_all_of_the_agent,
        scopes.strangers_cannot_revise,
        scopes.strangers_cannot_end,
        scopes.strangers_learn_nothing_from_a_refusal,
        scopes.a_memory_cannot_move_to_another_user,
        scopes.a_change_cannot_begin_what_it_does_not_cover,
        scopes.the_same_id_may_live_in_two_tenants,
        scopes.an_id_belongs_to_one_agent_of_a_tenant,
        scopes.a_crowd_of_another_agent_does_not_hide_mine,
        scopes.a_crowd_of_another_tenant_does_not_hide_mine,
        scopes.a_crowd_of_another_user_does_not_hide_mine,
        scopes.a_crowd_of_another_type_does_not_hide_mine,
        scopes.a_crowd_of_expired_memories_does_not_hide_mine,
        scopes.a_crowd_of_archived_memories_does_not_hide_mine,
        scopes.scores_do_not_depend_on_who_shares_the_store,
        filters.find_is_ordered_by_id,
        filters.paging_by_id_is_complete,
        filters.paging_a_filtered_list_is_complete,
        filters.paging_survives_changes_between_pages,
        filters.a_page_begins_behind_any_id,
        filters.a_memory_is_dead_from_the_moment_it_expires,
        filters.a_memory_without_an_end_outlives_every_moment,
        filters.archived_memories_answer_only_when_asked_for,
        filters.types_select,
        filters.bounds_of_creation_are_inclusive,
        filters.confidence_below_is_strict,
        filters.all_conditions_must_hold,
        filters.eq_compares_text_exactly,
        filters.eq_compares_numbers_by_value,
        filters.large_integers_are_told_apart,
        filters.true_is_not_one,
        filters.true_is_not_one_inside_lists_and_objects,
        filters.missing_equals_null,
        filters.ne_is_the_opposite_of_eq,
        filters.lists_equal_lists_in_order,
        filters.objects_equal_objects,
        filters.order_holds_between_numbers,
        filters.order_holds_between_texts,
        filters.in_means_equal_to_one_of,
        filters.in_nothing_matches_nothing,
        filters.exists_asks_for_a_value,
        filters.contains_looks_inside_texts_and_lists,
        filters.prefix_is_case_sensitive,
        filters.wildcards_are_plain_characters,
        filters.quotes_are_plain_characters,
        filters.filters_speak_every_script,
        filters.nested_metadata_is_reached_by_steps,
        filters.a_step_of_any_spelling_is_reached,
        filters.lists_have_no_numbered_steps,
        filters.and_or_not_combine,
        filters.nothing_to_satisfy_is_satisfied,
        filters.tags_are_found_by_name,
        filters.record_fields_are_found_by_name,
        filters.the_user_is_a_field,
        writes.the_same_words_are_a_duplicate,
        writes.letters_composed_differently_are_the_same_words,
        writes.another_type_or_event_is_no_duplicate,
        writes.an_expired_memory_is_no_duplicate,
        writes.a_replaced_wording_is_no_duplicate,
        writes.the_entry_of_a_key_neither_repeats_nor_is_repeated,
        writes.only_exactly_the_same_scope_holds_duplicates,
        writes.a_memory_of_no_user_is_a_duplicate_of_its_like,
        writes.a_unique_put_is_refused_while_its_content_is_live,
        writes.a_unique_put_may_repeat_what_its_own_change_ends,
        writes.one_change_cannot_say_the_same_thing_twice,
        writes.a_put_that_need_not_be_unique_may_repeat,
        search.ties_are_broken_by_id,
        search.the_order_is_the_same_every_time,
        search.search_gives_no_more_than_asked,
        search.searching_an_empty_scope_finds_nothing,
        search.filters_apply_before_the_limit,
    ),
    *_all(
        {Feature.HISTORY},
        scopes.history_is_hidden_from_strangers,
        history.every_version_is_in_the_history,
        history.every_reason_to_end_is_kept,
        history.an_end_names_what_took_its_place,
        history.a_restored_memory_has_a_gap_in_its_history,
        history.what_never_was_has_no_history,
        history.a_footprint_tells_what_a_change_did,
        history.changes_are_listed_newest_first,
        history.a_user_sees_its_own_changes_and_the_agent_all,
    ),
    *_all(
        {Feature.HISTORY, Feature.IDEMPOTENCY},
        writes.the_same_structure_is_a_duplicate_in_any_order_of_keys,
        writes.a_key_is_used_once_by_an_agent,
        writes.agents_and_tenants_have_their_own_keys,
        writes.a_key_leads_back_to_its_change,
        writes.a_refused_change_leaves_its_key_free,
    ),
    *_all(
        {Feature.VECTOR},
        search.nearer_vectors_rank_higher,
        search.a_new_vector_replaces_the_old_one,
        search.a_vector_is_carried_over_when_asked,
        search.a_vector_alone_finds,
    ),
    *_all(
        {Feature.VECTOR, Feature.FTS},
        search.a_memory_without_vector_is_found_by_its_words,
        search.words_and_meaning_add_up,
        search.a_score_is_the_relevance_of_its_signals,
        search.demoted_memories_keep_a_quarter_of_their_score,
    ),
    *_all(
        {Feature.FTS},
        search.words_alone_find,
        search.the_text_share_is_scope_local_bm25,
        search.rare_words_weigh_more,
        search.a_word_is_found_in_any_form,
        search.a_query_of_common_words_earns_no_text_share,
        search.a_query_of_signs_is_just_words,
        search.unspaced_scripts_are_found_by_their_parts,
        search.identifiers_are_found_whole_and_by_their_parts,
        search.compound_identifiers_are_words_of_their_own,
        search.a_memory_worded_as_the_query_comes_first,
        search.only_turns_lend_to_each_other,
        search.the_newest_memory_of_a_state_comes_first,
        search.the_words_of_structured_content_are_found,
        search.old_words_are_forgotten_with_their_version,
        search.statistics_come_from_what_the_query_may_see,
    ),
    *_all(
        {Feature.HISTORY, Feature.AS_OF},
        history.the_past_shows_what_was_current_then,
        history.the_past_is_searched_with_its_own_words,
        history.the_past_keeps_its_scope_and_its_filters,
        history.the_past_has_its_own_clock_for_expiry,
        history.another_agents_clock_does_not_move_my_past,
        history.a_clock_that_went_back_hides_nothing_later,
        history.a_change_stamped_too_early_leaves_the_past_as_it_was,
        history.the_past_shows_one_version_when_a_clock_went_back_and_forth,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY, Feature.AS_OF},
        history.an_erased_memory_is_gone_from_every_reader,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY},
        history.history_shows_that_it_was_not_what_it_said,
        history.an_ended_memory_can_be_erased,
        history.erasing_twice_is_fine,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY, Feature.IDEMPOTENCY},
        history.a_request_is_forgotten_with_what_it_said,
    ),
    *_all(
        {Feature.HARD_DELETE},
        history.an_erased_id_never_comes_back,
        history.erased_words_may_be_said_again,
        history.strangers_cannot_erase,
        history.a_conflict_beside_it_stops_an_erasure,
    ),
    *_all(
        {Feature.RECALL_TRACKING},
        optional.a_recalled_memory_is_not_idle,
        optional.being_written_counts_as_use,
        optional.readers_see_when_a_memory_was_recalled,
        optional.a_new_version_keeps_the_last_recall,
        optional.strangers_do_not_count_as_readers,
        optional.touching_what_is_not_there_is_fine,
        optional.touching_makes_no_new_version,
    ),
)

_DURABLE = frozenset({Feature.DURABLE})

LASTING: tuple[Lasting, ...] = tuple(
    Lasting(name=run.__name__, requires=_DURABLE | more, run=run)
    for run, more in (
        (optional.what_was_written_is_there_when_opened_again, set[Feature]()),
        (optional.what_was_revised_is_as_it_was_left_when_opened_again, set[Feature]()),
        (optional.what_has_ended_does_not_come_back_when_opened_again, set[Feature]()),
        (optional.a_change_is_known_again_when_opened_again, set[Feature]()),
        (optional.a_past_is_kept_when_opened_again, {Feature.HISTORY}),
        (optional.what_was_erased_does_not_come_back_when_opened_again, {Feature.HARD_DELETE}),
    )
)


def _able(ability: type, *runs: Callable[..., Awaitable[None]]) -> tuple[Check, ...]:
    return tuple(Check(name=run.__name__, requires=frozenset(), run=run, ability=ability) for run in runs)


ABLE: tuple[Check, ...] = (
    *_able(
        contract.SupportsBulkWrite,
        optional.changes_written_together_are_each_kept,
        optional.what_one_of_many_may_not_do_concerns_it_alone,
    ),
    *_able(contract.SupportsPeek, optional.a_glance_tells_what_get_would_tell),
    *_able(
        contract.SupportsListing,
        optional.owners_are_those_of_the_tenant,
        optional.the_newest_come_page_by_page_inside_the_scope,
    ),
    *_able(contract.RecallCounter, optional.recalls_are_counted),
    *_able(
        contract.SupportsChangeLog,
        optional.the_past_is_handed_out_in_order_to_its_agent_alone,
        optional.every_version_keeps_its_own_vector,
    ),
)

EVERY: tuple[Check | Lasting, ...] = (*CHECKS, *ABLE, *LASTING)
