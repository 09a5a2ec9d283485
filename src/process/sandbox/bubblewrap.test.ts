import { expect, test } from 'vitest';
import { systemCallFilter } from './bubblewrap.ts';

/** What the kernel would answer: an error number, or null where the call is allowed. */
function answer(filter: Buffer, call: { architecture: number; number: number; argument?: number }): number | null {
  const data = new Map([
    [0, call.number],
    [4, call.architecture],
    [16, call.argument ?? 0],
  ]);
  let value = 0;
  for (let at = 0; ; at++) {
    const code = filter.readUInt16LE(at * 8);
    const [ifTrue, ifFalse, k] = [
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x20) value = data.get(k) ?? Number.NaN;
    else if (code === 0x15) at += value === k ? ifTrue : ifFalse;
    else if (code === 0x35) at += value >= k ? ifTrue : ifFalse;
    else return k === 0x7fff0000 ? null : k & 0xffff;
  }
}

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

test.each([
  ['x64', 0xc000003e, { read: 0, socket: 41, keyctl: 250, add: 248 }],
  ['arm64', 0xc00000b7, { read: 63, socket: 198, keyctl: 219, add: 217 }],
] as const)('on %s keyrings, VSOCK and io_uring are refused, and nothing else', (processor, architecture, calls) => {
  const filter = systemCallFilter(processor);
  if (filter === null) return expect.unreachable('there is one for this processor');
  const ask = (number: number, argument?: number) =>
    answer(filter, { architecture, number, ...(argument === undefined ? {} : { argument }) });
  expect([ask(calls.keyctl), ask(calls.add), ask(425), ask(427), ask(calls.socket, 40)]).toEqual([
    EPERM,
    EPERM,
    ENOSYS,
    ENOSYS,
    EAFNOSUPPORT,
  ]);
  // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; and a call whose first argument happens to be 40.
  expect([1, 2, 10, 16].map((family) => ask(calls.socket, family))).toEqual([null, null, null, null]);
  expect([ask(calls.read, 40), ask(434), ask(1)]).toEqual([null, null, null]);
});

test('calls by the numbers of another processor are refused', () => {
  const filter = systemCallFilter('x64');
  if (filter === null) return expect.unreachable('there is one for this processor');
  expect(answer(filter, { architecture: 0x40000003, number: 3 })).toBe(ENOSYS);
  expect(answer(filter, { architecture: 0xc000003e, number: 0x40000000 + 250 })).toBe(ENOSYS);
  expect(systemCallFilter('mips')).toBeNull();
});
