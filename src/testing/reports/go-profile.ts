import type { FileCoverage } from '../port.ts';
import { createLineCoverage } from './line-coverage.ts';

const BLOCK = /^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$/;

/** Go's own profile: blocks of statements, with file names that begin with the path of the module. */
export function parseGoProfile(text: string, modulePath: string): FileCoverage[] {
  const prefix = `${modulePath}/`;
  const coverage = createLineCoverage((file) => (file.startsWith(prefix) ? file.slice(prefix.length) : null));
  for (const line of text.split(/\r?\n/)) {
    const [, file = '', first, last, statements, count] = BLOCK.exec(line) ?? [];
    if (file === '' || Number(statements) === 0) continue;
    for (let at = Number(first); at <= Number(last); at += 1) coverage.add(file, at, Number(count) > 0);
  }
  return coverage.files();
}
