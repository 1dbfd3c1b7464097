"""Columns of Parquet files and data frames, through pyarrow (an optional dependency)."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from malleable.files.advice import library
from malleable.files.reading import too_large

# pandas stores an unnamed row index as such a column, which is not about the jobs.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")

PARQUET_MAGIC = b"PAR1"
_BATCH = 1 << 16  # rows that are unpacked at a time
_LISTS = 1 << 6  # the same if rows have lists, of any length


def is_frame(source: object) -> bool:
    """Whether ``source`` is a data frame: it has one of the two protocols by which libraries exchange them."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__")


def _columns(table: Any) -> list[tuple[str, list[Any]]]:
    named = zip(map(str, table.column_names), table.columns, strict=True)
    return [(name, own.to_pylist()) for name, own in named if not _PANDAS_INDEX.fullmatch(name)]


def frame_columns(frame: Any, where: str) -> list[tuple[str, list[Any]]]:
    """Name and cells (None where missing) of every column of a data frame, in its order."""
    pa = library("pyarrow", "reading a data frame", "'malleable[tables]'")
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            return _columns(pa.table(frame))
        import pyarrow.interchange

        return _columns(pyarrow.interchange.from_dataframe(frame))
    except pa.ArrowException as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None


def _written_out(array: Any) -> int:
    # Bytes of an Arrow array with values in the place of a dictionary's indices. O(bytes of the array).
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        try:
            each = pc.binary_length(array.dictionary).take(array.indices)
            return 4 * len(array) + int(pc.sum(pc.cast(each, pa.int64())).as_py() or 0)
        except pa.ArrowNotImplementedError:  # a dictionary of numbers
            return int(len(array) * kind.value_type.bit_width) // 8
    if pa.types.is_struct(kind):
        return sum(map(_written_out, array.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 4 * len(array) + _written_out(array.flatten())
    return int(array.nbytes)


def parquet_columns(
    stream: BinaryIO, where: str, max_size: int | None
) -> list[tuple[str, list[Any]]]:
    """Name and cells (None where missing) of every column of a Parquet file, in its order.

    Raises
    ------
    ValueError
        The file is damaged, or has more than ``max_size`` bytes of columns, unpacked.
    """
    pa = library("pyarrow", "reading Parquet", "'malleable[tables]'")
    import pyarrow.parquet

    data = stream.read()
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
        columns = [file.schema.column(k) for k in range(len(file.schema))]
        lists = any(each.max_repetition_level for each in columns)
        # Texts stay in dictionaries until their size is known, because a few bytes can stand for
        # gigabytes.
        texts = [each.path for each in columns if each.physical_type == "BYTE_ARRAY"]
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        batches, size = [], 0
        for batch in file.iter_batches(batch_size=_LISTS if lists else _BATCH):
            size += sum(map(_written_out, batch.columns))
            if max_size is not None and size > max_size:
                raise too_large(where, max_size)
            batches.append(batch)
        return _columns(pa.Table.from_batches(batches, schema=file.schema_arrow))
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(f"{where}: damaged Parquet file ({detail})") from None
