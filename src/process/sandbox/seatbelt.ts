import { dirname } from 'node:path';
import type { Rule } from './rules.ts';

/**
 * The same rules as a profile of macOS's sandbox-exec. Of several lines that are about the same file, the last one counts. It is
 * written from the documented language and from profiles that are in use elsewhere; no test of ours runs it.
 *
 * It differs from Linux: there is no folder of the program's own in the place of a hidden one, other processes can be seen, what
 * leaves its process group is not ended with the program, and all of loopback can be reached.
 */
export function seatbeltProfile(rules: readonly Rule[], hasHostNetwork: boolean): string {
  const files = rules.flatMap(({ path, access }) => {
    const place = `(subpath ${quoted(path)})`;
    if (access === 'write') return [`(allow file-read* file-write* ${place})`];
    if (access === 'read' || access === 'link') return [`(allow file-read* ${place})`, `(deny file-write* ${place})`];
    return [`(deny file-read* file-write* ${place})`];
  });
  const shown = rules.filter(({ access }) => access !== 'hidden' && access !== 'private');
  const above = [...new Set(shown.flatMap(({ path }) => foldersAbove(path)))].sort();
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    `(allow file-write* ${DEVICES.map((path) => `(literal ${quoted(path)})`).join(' ')})`,
    ...files,
    // A path is looked up part by part, also through what is hidden.
    ...above.map((path) => `(allow file-read-metadata (literal ${quoted(path)}))`),
    // What other programs would do in its name. An agent that uses its own login may have it in the keychain.
    denied([...SERVICES, ...(hasHostNetwork ? [] : KEYCHAIN)]),
    '(deny appleevent-send)',
    '(deny lsopen)',
    ...(hasHostNetwork ? [] : LOOPBACK),
    '',
  ].join('\n');
}

const DEVICES = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/dtracehelper', '/dev/stdout', '/dev/stderr'];

const KEYCHAIN = ['com.apple.SecurityServer', 'com.apple.securityd.xpc'];
const SERVICES = [
  'com.apple.pasteboard.1',
  'com.apple.coreservices.launchservicesd',
  'com.apple.coreservices.appleevents',
];

const LOOPBACK = [
  '(deny network*)',
  '(allow network-bind (local ip "localhost:*"))',
  '(allow network-inbound (local ip "localhost:*"))',
  '(allow network-outbound (remote ip "localhost:*"))',
];

function denied(services: readonly string[]): string {
  return `(deny mach-lookup ${services.map((name) => `(global-name ${quoted(name)})`).join(' ')})`;
}

function foldersAbove(path: string): string[] {
  const above: string[] = [];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.push(at);
  return above;
}

function quoted(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&')}"`;
}
