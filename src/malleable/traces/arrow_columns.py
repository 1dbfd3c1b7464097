"""Columns of Parquet files and data frames, through pyarrow (an optional dependency)."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from malleable.files.advice import library
from malleable.files.reading import too_large

# pandas stores an unnamed row index as such a column; it says nothing about the jobs.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")

PARQUET_MAGIC = b"PAR1"
_BATCH = 1 << 16  # rows that are unpacked before they are counted


def is_frame(source: object) -> bool:
    """Whether ``source`` speaks one of the two data frame protocols."""
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


def parquet_columns(
    stream: BinaryIO, where: str, max_size: int | None
) -> list[tuple[str, list[Any]]]:
    """Name and cells (None where missing) of every column of a Parquet file, in its order.

    Raises
    ------
    ValueError
        Damaged, or more than ``max_size`` bytes of columns, unpacked.
    """
    pa = library("pyarrow", "reading Parquet", "'malleable[tables]'")
    import pyarrow.parquet

    data = stream.read()
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
        batches, size = [], 0
        for batch in file.iter_batches(batch_size=_BATCH):
            size += batch.nbytes
            if max_size is not None and size > max_size:
                raise too_large(where, max_size)
            batches.append(batch)
        return _columns(pa.Table.from_batches(batches, schema=file.schema_arrow))
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(f"{where}: damaged Parquet file ({detail})") from None
