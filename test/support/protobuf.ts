/** One field of a message: a number for varints and fixed ones, bytes for the rest. */
export interface Field {
  number: number;
  value: bigint | Buffer;
}

/** The fields of a protobuf message in their order; whoever reads them knows the schema. */
export function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, value: varint() });
        break;
      case 1:
        fields.push({ number, value: bytes(8).readBigUInt64LE() });
        break;
      case 2:
        fields.push({ number, value: bytes(Number(varint())) });
        break;
      case 5:
        fields.push({ number, value: BigInt(bytes(4).readUInt32LE()) });
        break;
      default:
        throw new TypeError(`a field of type ${tag & 7}`);
    }
  }
  return fields;
}
