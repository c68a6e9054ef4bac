"""The offsets to read next, from file names only."""

from lineage_merge.sources.kafka_landing.files import (
    Available,
    Gap,
    Range,
    file_name,
    find_landed_offsets,
    to_read,
)


def test_a_name_contains_topic_partition_and_offsets() -> None:
    name = file_name(Range(12, 5, 1_000_000))

    assert name == "12/00000000000000000005-00000000000001000000.jsonl.gz"
    assert find_landed_offsets([f"s3://lake/landing/topic/{name}"]) == {12: 1_000_000}


def test_the_highest_end_of_a_partition_is_used_and_other_files_ignored() -> None:
    ranges = [Range(0, 0, 5), Range(0, 5, 9), Range(0, 5, 7), Range(1, 0, 3)]
    names = [f"/landing/t/{file_name(each)}" for each in ranges]

    assert find_landed_offsets([*names, "/landing/t/0/notes.txt", "/landing/t/0/7-9.jsonl.gz"]) == {
        0: 9,
        1: 3,
    }


def test_reading_continues_where_files_end_and_new_partitions_begin_at_their_beginning() -> None:
    available = {0: Available(0, 9), 1: Available(0, 12), 2: Available(40, 50), 3: Available(7, 7)}

    assert to_read({0: 9, 1: 10}, available) == ([Range(1, 10, 12), Range(2, 40, 50)], [])


def test_messages_deleted_before_they_were_read_are_reported() -> None:
    ranges, gaps = to_read({0: 5}, {0: Available(8, 10)})

    assert ranges == [Range(0, 8, 10)]
    assert gaps == [Gap(0, "offsets 5 to 7 were deleted in Kafka before they were read")]


def test_a_recreated_topic_is_reported_and_not_read() -> None:
    ranges, [gap] = to_read({0: 100}, {0: Available(0, 10)})

    assert ranges == []
    assert gap.message.startswith("it ends at offset 10, before the offset already read (100)")
