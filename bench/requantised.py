"""A GGUF file's matrices in Q8_0, whatever quantised type they have: the same metadata, the same tokenizer."""

from pathlib import Path

from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.constants import Keys, LlamaFileType
from gguf.quants import dequantize, quantize

from bankml.models import atomic

Q8_0 = GGMLQuantizationType.Q8_0
KEPT = (GGMLQuantizationType.F32, Q8_0)


def write(source: Path, target: Path) -> Path:
    """Writes `target` and returns it."""
    reader = GGUFReader(source)
    with atomic.replacement(target) as temporary:
        writer = GGUFWriter(temporary, str(reader.fields[Keys.General.ARCHITECTURE].contents()))
        _copy_metadata(reader, writer)
        for tensor in reader.tensors:
            kind = tensor.tensor_type if tensor.tensor_type in KEPT else Q8_0
            values = (
                tensor.data
                if kind == tensor.tensor_type
                else quantize(dequantize(tensor.data, tensor.tensor_type), kind)
            )
            writer.add_tensor(tensor.name, values, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return target


def _copy_metadata(reader: GGUFReader, writer: GGUFWriter) -> None:
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in (Keys.General.ARCHITECTURE, Keys.General.FILE_TYPE):
            continue
        kind = field.types[0]
        elements = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=elements)
    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0)
