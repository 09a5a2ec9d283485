import { termsOf } from './terms.ts';

/** The weight of each term of an issue. */
export type Query = ReadonlyMap<number, number>;

const TITLE_WEIGHT = 2;
const QUOTED_WEIGHT = 1.5;
const TROUBLE_WEIGHT = 1;

/** Words of every issue. */
const STOP_WORDS = new Set(
  termsOf(`a an and are as at be been but by can could do does don for from had has have he her his how if in into is it
    its just like may me more most my no not now of on only or other our out over own same she should so some such than that
    the their them then there these they this those through to too under up us very was we were what when where which while
    who why will with would you your also already always because before after being both each every instead make makes made
    need needs new one two see use used using via want way well still without within yet
    fix fixes fixed bug issue add adds added adding change changes changed update updates updated remove removes removed
    improve support allow please closes close resolves merge pull request commit pr ref refs feat chore refactor
    http https www com github org io`),
);
/** Trailers of commit messages, which name people. */
const TRAILER =
  /^[ \t]*([A-Za-z-]+-by|Change-Id|Cc|git-svn-id|Refs?|Closes|Fixes|See-also|Reviewed-on|PiperOrigin-RevId|PUBLISHED_FROM):.*$/gim;
const TROUBLE = /(?:Error|Exception)\b|\bpanic(?:ked)?\b|^[ \t]+at .+:\d|File "[^"]+", line \d|\bfatal:/;
/** Of a line: what makes it one about trouble comes early. */
const MOST_CHARS = 1_000;

export function queryOf(title: string, body: string): Query {
  const clean = (text: string): string =>
    text
      .replace(TRAILER, '')
      .replace(/<!--[^]*?(?:-->|$)/g, ' ')
      .replace(/\bhttps?:\/\/\S+/g, ' ');
  const heading = clean(title);
  const rest = clean(body);
  const weights = new Map<number, number>();
  const add = (text: string, weight: number): void => {
    const found = new Map<number, number>();
    for (const [word] of text.matchAll(/[\p{L}\p{N}_$]+/gu)) {
      for (const term of termsOf(word)) {
        if (STOP_WORDS.has(term)) continue;
        found.set(term, (found.get(term) ?? 0) + 1);
      }
    }
    for (const [term, count] of found) weights.set(term, (weights.get(term) ?? 0) + weight * (1 + Math.log(count)));
  };
  add(heading, TITLE_WEIGHT);
  add(rest, 1);
  const all = `${heading}\n${rest}`;
  const quoted = [...all.matchAll(/`([^`\n]+)`|"([^"\n]{2,80})"|(?<!\w)'([^'\n]{2,80})'/g)];
  add(quoted.map(([, a, b, c]) => a ?? b ?? c).join('\n'), QUOTED_WEIGHT);
  const troubled = all.split('\n').filter((line) => TROUBLE.test(line.slice(0, MOST_CHARS)));
  add(troubled.join('\n'), TROUBLE_WEIGHT);
  return weights;
}

/** Tracked files that a text names: by path, by the end of a path, or by a file name that only one of them has. */
export function namedPaths(text: string, paths: readonly string[]): string[] {
  const byName = new Map<string, string[]>();
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const others = byName.get(name);
    if (others === undefined) byName.set(name, [path]);
    else others.push(path);
  }
  const named = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}_@.+/-]+/gu)) {
    const candidate = word.replace(/^(\.\/)+|^\/+|[.,:;]+$/g, '');
    const name = candidate.slice(candidate.lastIndexOf('/') + 1);
    const same = byName.get(name) ?? [];
    const exact = same.filter((path) => path === candidate);
    const ending = exact.length > 0 ? exact : same.filter((path) => path.endsWith(`/${candidate}`));
    if (ending.length === 1 && (candidate.includes('.') || candidate.includes('/'))) named.add(ending[0] ?? '');
  }
  return [...named];
}
