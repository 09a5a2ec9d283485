/**
 * A filter for system calls that no namespace holds back: the kernel's keyrings belong to the user, not to a container; sockets of
 * the kind VSOCK lead out of a virtual machine; io_uring makes sockets past the filter. Anything else is allowed.
 */

interface Numbers {
  /** The kernel's name for the processor, as it tells the filter. */
  architecture: number;
  socket: number;
  /** add_key, request_key, keyctl */
  keys: readonly number[];
}

const NUMBERS: Partial<Record<NodeJS.Architecture, Numbers>> = {
  x64: { architecture: 0xc000003e, socket: 41, keys: [248, 249, 250] },
  arm64: { architecture: 0xc00000b7, socket: 198, keys: [217, 218, 219] },
};
const IO_URING = [425, 426, 427];
/** Calls with this bit are the same ones under another number. */
const X32 = 0x40000000;
const AF_VSOCK = 40;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in what the filter is shown of a call. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_ARGUMENT_AT = 16;

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const refuse = (errno: number): number => 0x00050000 | errno;

/** code, jump if true, jump if false, value */
type Instruction = readonly [number, number, number, number];

/** The filter as the kernel takes it; null: the numbers of this processor's calls are not known here. */
export function systemCallFilter(processor: NodeJS.Architecture): Buffer | null {
  const numbers = NUMBERS[processor];
  if (numbers === undefined) return null;
  const { architecture, socket, keys } = numbers;
  const refusedIf = (number: number, errno: number): Instruction[] => [
    [JUMP_IF_EQUAL, 0, 1, number],
    [RETURN, 0, 0, refuse(errno)],
  ];
  const instructions: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    // Programs for an older processor of the same family make calls by other numbers.
    [JUMP_IF_EQUAL, 1, 0, architecture],
    [RETURN, 0, 0, refuse(ENOSYS)],
    [LOAD, 0, 0, NUMBER_AT],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, refuse(ENOSYS)],
    ...keys.flatMap((number) => refusedIf(number, EPERM)),
    ...IO_URING.flatMap((number) => refusedIf(number, ENOSYS)),
    [JUMP_IF_EQUAL, 0, 3, socket],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    ...refusedIf(AF_VSOCK, EAFNOSUPPORT),
    [RETURN, 0, 0, ALLOW],
  ];
  const filter = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    filter.writeUInt16LE(code, index * 8);
    filter.writeUInt8(ifTrue, index * 8 + 2);
    filter.writeUInt8(ifFalse, index * 8 + 3);
    filter.writeUInt32LE(value, index * 8 + 4);
  }
  return filter;
}
