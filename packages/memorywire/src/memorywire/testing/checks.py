"""The table of checks: what each one claims, and which features a store must have for it to apply."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from memorywire.model.capabilities import Feature
from memorywire.stores import contract
from memorywire.stores.contract import Store
from memorywire.testing import (
    abilities,
    changing,
    erasing,
    filtering,
    finding,
    keeping,
    lasting,
    remembering,
    repeating,
    searching,
    sharing,
    tracking,
)


class Check(Struct, frozen=True, kw_only=True):
    """A claim about any store; `run` returns if it holds and raises if it does not."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[Store], Awaitable[None]]
    ability: type | None = None
    """A protocol of the contract that only some stores satisfy: the claim is about those."""


class Lasting(Struct, frozen=True, kw_only=True):
    """A claim that takes more than one opening of the same store to see."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[lasting.Opener], Awaitable[None]]


def _all(requires: set[Feature], *runs: Callable[[Store], Awaitable[None]]) -> tuple[Check, ...]:
    return tuple(Check(name=run.__name__, requires=frozenset(requires), run=run) for run in runs)


CHECKS: tuple[Check, ...] = (
    *_all(
        set(),
        keeping.every_field_comes_back_as_it_was,
        keeping.an_id_of_any_spelling_is_kept,
        keeping.structured_content_keeps_its_shape,
        keeping.an_object_that_looks_like_text_stays_an_object,
        keeping.every_script_survives,
        keeping.content_of_64_kib_is_kept,
        keeping.large_metadata_is_kept,
        keeping.numbers_keep_their_kind_and_every_digit,
        keeping.what_is_kept_does_not_follow_the_callers_dict,
        keeping.one_change_may_begin_many,
        keeping.get_answers_in_the_order_asked,
        keeping.asking_for_nothing_gives_nothing,
        keeping.an_expired_memory_can_still_be_fetched_by_id,
        keeping.a_new_version_replaces_the_old_one,
        keeping.a_change_of_an_agent_may_begin_memories_of_its_users,
        changing.an_id_can_be_taken_once,
        changing.an_ended_id_stays_taken,
        changing.a_stale_version_cannot_be_put,
        changing.a_version_cannot_be_skipped,
        changing.what_is_not_there_cannot_be_revised_or_ended,
        changing.what_has_ended_cannot_be_revised,
        changing.what_is_live_cannot_be_restored,
        changing.ending_twice_conflicts,
        changing.ending_a_version_that_moved_conflicts,
        changing.an_ended_memory_is_gone_from_every_reader,
        changing.an_ended_memory_can_begin_again,
        changing.a_conflicting_end_undoes_the_puts_beside_it,
        changing.a_conflicting_put_undoes_everything_beside_it,
        changing.a_refused_change_may_be_tried_again,
        changing.writing_a_change_twice_changes_nothing,
        changing.a_change_written_twice_at_once_is_committed_once,
        changing.sequences_grow_with_every_change,
        changing.concurrent_writes_are_all_kept,
        changing.of_concurrent_revisions_exactly_one_wins,
        changing.a_conflict_does_not_disturb_the_writes_around_it,
        changing.a_write_is_seen_by_the_next_reader,
        sharing.another_tenant_sees_nothing,
        sharing.another_agent_sees_nothing,
        sharing.a_user_sees_exactly_its_own,
        sharing.a_request_without_user_sees_all_of_the_agent,
        sharing.strangers_cannot_revise,
        sharing.strangers_cannot_end,
        sharing.strangers_learn_nothing_from_a_refusal,
        sharing.a_memory_cannot_move_to_another_user,
        sharing.a_change_cannot_begin_what_it_does_not_cover,
        sharing.the_same_id_may_live_in_two_tenants,
        sharing.an_id_belongs_to_one_agent_of_a_tenant,
        sharing.a_crowd_of_another_agent_does_not_hide_mine,
        sharing.a_crowd_of_another_tenant_does_not_hide_mine,
        sharing.a_crowd_of_another_user_does_not_hide_mine,
        sharing.a_crowd_of_another_type_does_not_hide_mine,
        sharing.a_crowd_of_expired_memories_does_not_hide_mine,
        sharing.a_crowd_of_archived_memories_does_not_hide_mine,
        sharing.scores_do_not_depend_on_who_shares_the_store,
        finding.find_is_ordered_by_id,
        finding.paging_by_id_is_complete,
        finding.paging_a_filtered_list_is_complete,
        finding.paging_survives_changes_between_pages,
        finding.a_page_begins_behind_any_id,
        finding.a_memory_is_dead_from_the_moment_it_expires,
        finding.a_memory_without_an_end_outlives_every_moment,
        finding.archived_memories_answer_only_when_asked_for,
        finding.types_select,
        finding.bounds_of_creation_are_inclusive,
        finding.confidence_below_is_strict,
        finding.all_conditions_must_hold,
        filtering.eq_compares_text_exactly,
        filtering.eq_compares_numbers_by_value,
        filtering.large_integers_are_told_apart,
        filtering.true_is_not_one,
        filtering.true_is_not_one_inside_lists_and_objects,
        filtering.missing_equals_null,
        filtering.ne_is_the_opposite_of_eq,
        filtering.lists_equal_lists_in_order,
        filtering.objects_equal_objects,
        filtering.order_holds_between_numbers,
        filtering.order_holds_between_texts,
        filtering.in_means_equal_to_one_of,
        filtering.in_nothing_matches_nothing,
        filtering.exists_asks_for_a_value,
        filtering.contains_looks_inside_texts_and_lists,
        filtering.prefix_is_case_sensitive,
        filtering.wildcards_are_plain_characters,
        filtering.quotes_are_plain_characters,
        filtering.filters_speak_every_script,
        filtering.nested_metadata_is_reached_by_steps,
        filtering.a_step_of_any_spelling_is_reached,
        filtering.lists_have_no_numbered_steps,
        filtering.and_or_not_combine,
        filtering.nothing_to_satisfy_is_satisfied,
        filtering.tags_are_found_by_name,
        filtering.record_fields_are_found_by_name,
        filtering.the_user_is_a_field,
        repeating.the_same_words_are_a_duplicate,
        repeating.letters_composed_differently_are_the_same_words,
        repeating.another_type_or_event_is_no_duplicate,
        repeating.an_expired_memory_is_no_duplicate,
        repeating.a_replaced_wording_is_no_duplicate,
        repeating.the_entry_of_a_key_neither_repeats_nor_is_repeated,
        repeating.only_exactly_the_same_scope_holds_duplicates,
        repeating.a_memory_of_no_user_is_a_duplicate_of_its_like,
        repeating.a_unique_put_is_refused_while_its_content_is_live,
        repeating.a_unique_put_may_repeat_what_its_own_change_ends,
        repeating.one_change_cannot_say_the_same_thing_twice,
        repeating.a_put_that_need_not_be_unique_may_repeat,
        searching.ties_are_broken_by_id,
        searching.the_order_is_the_same_every_time,
        searching.search_gives_no_more_than_asked,
        searching.searching_an_empty_scope_finds_nothing,
        searching.filters_apply_before_the_limit,
    ),
    *_all(
        {Feature.HISTORY},
        sharing.history_is_hidden_from_strangers,
        remembering.every_version_is_in_the_history,
        remembering.every_reason_to_end_is_kept,
        remembering.an_end_names_what_took_its_place,
        remembering.a_restored_memory_has_a_gap_in_its_history,
        remembering.what_never_was_has_no_history,
        remembering.a_footprint_tells_what_a_change_did,
        remembering.changes_are_listed_newest_first,
        remembering.a_user_sees_its_own_changes_and_the_agent_all,
    ),
    *_all(
        {Feature.HISTORY, Feature.IDEMPOTENCY},
        repeating.the_same_structure_is_a_duplicate_in_any_order_of_keys,
        repeating.a_key_is_used_once_by_an_agent,
        repeating.agents_and_tenants_have_their_own_keys,
        repeating.a_key_leads_back_to_its_change,
        repeating.a_refused_change_leaves_its_key_free,
    ),
    *_all(
        {Feature.VECTOR},
        searching.nearer_vectors_rank_higher,
        searching.a_new_vector_replaces_the_old_one,
        searching.a_vector_is_carried_over_when_asked,
        searching.a_vector_alone_finds,
    ),
    *_all(
        {Feature.VECTOR, Feature.FTS},
        searching.a_memory_without_vector_is_found_by_its_words,
        searching.words_and_meaning_add_up,
        searching.a_score_is_the_relevance_of_its_signals,
        searching.demoted_memories_keep_a_quarter_of_their_score,
    ),
    *_all(
        {Feature.FTS},
        searching.words_alone_find,
        searching.the_text_share_is_scope_local_bm25,
        searching.rare_words_weigh_more,
        searching.a_word_is_found_in_any_form,
        searching.a_query_of_common_words_earns_no_text_share,
        searching.a_query_of_signs_is_just_words,
        searching.unspaced_scripts_are_found_by_their_parts,
        searching.identifiers_are_found_whole_and_by_their_parts,
        searching.the_words_of_structured_content_are_found,
        searching.old_words_are_forgotten_with_their_version,
        searching.statistics_come_from_what_the_query_may_see,
    ),
    *_all(
        {Feature.HISTORY, Feature.AS_OF},
        remembering.the_past_shows_what_was_current_then,
        remembering.the_past_is_searched_with_its_own_words,
        remembering.the_past_keeps_its_scope_and_its_filters,
        remembering.the_past_has_its_own_clock_for_expiry,
        remembering.another_agents_clock_does_not_move_my_past,
        remembering.a_clock_that_went_back_hides_nothing_later,
        remembering.a_change_stamped_too_early_leaves_the_past_as_it_was,
        remembering.the_past_shows_one_version_when_a_clock_went_back_and_forth,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY, Feature.AS_OF},
        erasing.an_erased_memory_is_gone_from_every_reader,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY},
        erasing.history_shows_that_it_was_not_what_it_said,
        erasing.an_ended_memory_can_be_erased,
        erasing.erasing_twice_is_fine,
    ),
    *_all(
        {Feature.HARD_DELETE, Feature.HISTORY, Feature.IDEMPOTENCY},
        erasing.a_request_is_forgotten_with_what_it_said,
    ),
    *_all(
        {Feature.HARD_DELETE},
        erasing.an_erased_id_never_comes_back,
        erasing.erased_words_may_be_said_again,
        erasing.strangers_cannot_erase,
        erasing.a_conflict_beside_it_stops_an_erasure,
    ),
    *_all(
        {Feature.RECALL_TRACKING},
        tracking.a_recalled_memory_is_not_idle,
        tracking.being_written_counts_as_use,
        tracking.readers_see_when_a_memory_was_recalled,
        tracking.a_new_version_keeps_the_last_recall,
        tracking.strangers_do_not_count_as_readers,
        tracking.touching_what_is_not_there_is_fine,
        tracking.touching_makes_no_new_version,
    ),
)

_DURABLE = frozenset({Feature.DURABLE})

LASTING: tuple[Lasting, ...] = tuple(
    Lasting(name=run.__name__, requires=_DURABLE | more, run=run)
    for run, more in (
        (lasting.what_was_written_is_there_when_opened_again, set[Feature]()),
        (lasting.what_was_revised_is_as_it_was_left_when_opened_again, set[Feature]()),
        (lasting.what_has_ended_does_not_come_back_when_opened_again, set[Feature]()),
        (lasting.a_change_is_known_again_when_opened_again, set[Feature]()),
        (lasting.a_past_is_kept_when_opened_again, {Feature.HISTORY}),
        (lasting.what_was_erased_does_not_come_back_when_opened_again, {Feature.HARD_DELETE}),
    )
)


def _able(ability: type, *runs: Callable[..., Awaitable[None]]) -> tuple[Check, ...]:
    return tuple(Check(name=run.__name__, requires=frozenset(), run=run, ability=ability) for run in runs)


ABLE: tuple[Check, ...] = (
    *_able(
        contract.SupportsBulkWrite,
        abilities.changes_written_together_are_each_kept,
        abilities.what_one_of_many_may_not_do_concerns_it_alone,
    ),
    *_able(contract.SupportsPeek, abilities.a_glance_tells_what_get_would_tell),
    *_able(
        contract.SupportsListing,
        abilities.owners_are_those_of_the_tenant,
        abilities.the_newest_come_page_by_page_inside_the_scope,
    ),
    *_able(contract.RecallCounter, abilities.recalls_are_counted),
    *_able(
        contract.SupportsChangeLog,
        abilities.the_past_is_handed_out_in_order_to_its_agent_alone,
        abilities.every_version_keeps_its_own_vector,
    ),
)

EVERY: tuple[Check | Lasting, ...] = (*CHECKS, *ABLE, *LASTING)
