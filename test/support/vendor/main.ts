/**
 * The loopback vendor as a process of its own:
 *
 *     node test/support/vendor/main.ts [--port 0] [--script file.ts] [--options file.json] [--log calls.jsonl]
 *                                      [--keys a,b] [--dilation 20] [--latency-ms 50] [--chunk-chars 24]
 *
 * The script file's default export is a `Script`; the options file holds `VendorOptions` as JSON, and flags go over it.
 * Prints one line of JSON, {url, pid}, when it listens. Ends on SIGTERM or SIGINT, and when its stdin ends if that is a
 * pipe, so that it dies with the process that started it.
 */
import { fstatSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { AgentosError } from '../../../src/core/errors.ts';
import type { Script, VendorOptions } from './options.ts';
import { startVendor } from './server.ts';

const FILE_KEYS = ['keys', 'limits', 'overload', 'dilation', 'headerTime', 'latencyMs', 'chunkChars', 'models', 'port'];

function readOptions(file: string | undefined): VendorOptions {
  if (file === undefined) return {};
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof parsed !== 'object' || parsed === null) {
    throw new AgentosError({ code: 'usage', reason: `${file} holds no object` });
  }
  const unknown = Object.keys(parsed).filter((key) => !FILE_KEYS.includes(key));
  if (unknown.length > 0) {
    throw new AgentosError({
      code: 'usage',
      reason: `${file}: unknown ${unknown.join(', ')}; known: ${FILE_KEYS.join(', ')}`,
    });
  }
  return parsed;
}

async function loadScript(file: string): Promise<Script> {
  const module: unknown = await import(pathToFileURL(resolve(file)).href);
  const script = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  if (typeof script !== 'function') {
    throw new AgentosError({ code: 'usage', reason: `${file} has no default export that is a function` });
  }
  return (call) => script(call);
}

function numberFlag(name: string, value: string): number {
  const parsed = Number(value);
  if (value.trim() !== '' && Number.isFinite(parsed) && parsed >= 0) return parsed;
  throw new AgentosError({ code: 'usage', reason: `--${name} takes a number, not ${JSON.stringify(value)}` });
}

const { values: flags } = parseArgs({
  options: {
    port: { type: 'string' },
    script: { type: 'string' },
    options: { type: 'string' },
    log: { type: 'string' },
    keys: { type: 'string' },
    dilation: { type: 'string' },
    'latency-ms': { type: 'string' },
    'chunk-chars': { type: 'string' },
  },
});

const vendor = await startVendor({
  ...readOptions(flags.options),
  ...(flags.port === undefined ? {} : { port: numberFlag('port', flags.port) }),
  ...(flags.dilation === undefined ? {} : { dilation: numberFlag('dilation', flags.dilation) }),
  ...(flags['latency-ms'] === undefined ? {} : { latencyMs: numberFlag('latency-ms', flags['latency-ms']) }),
  ...(flags['chunk-chars'] === undefined ? {} : { chunkChars: numberFlag('chunk-chars', flags['chunk-chars']) }),
  ...(flags.keys === undefined ? {} : { keys: flags.keys.split(',') }),
  ...(flags.script === undefined ? {} : { script: await loadScript(flags.script) }),
  ...(flags.log === undefined ? {} : { logFile: flags.log }),
});

const end = (): void => {
  vendor.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
};
process.once('SIGTERM', end);
process.once('SIGINT', end);
const stdin = fstatSync(0);
// /dev/null and files end at once: only a pipe says that somebody holds the other side.
if (stdin.isFIFO() || stdin.isSocket()) process.stdin.resume().once('end', end);
process.stdout.write(`${JSON.stringify({ url: vendor.url, pid: process.pid })}\n`);
