import { realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isInside } from '../../core/paths.ts';

/**
 * hidden – an empty folder or an unreadable file stands in its place; private – an empty folder of the program's own, which is
 * gone when it ends; read, write – what is there; link – a link to another file.
 */
type Access = 'hidden' | 'private' | 'read' | 'write' | 'link';

export interface Rule {
  /** Where programs see it. No part of it is a link, unless it is below a hidden place. */
  path: string;
  access: Access;
  /** What they see there; the same path for most. */
  source: string;
  isFolder: boolean;
}

export type Rules = ReturnType<typeof createRules>;

/**
 * What of the file system a program may see. All of it can be read where nothing else is said; of two rules the one for the
 * deeper path wins, and of two for one path the later one. What does not exist is left out.
 */
export function createRules(from: readonly Rule[] = []) {
  const rules = new Map<string, Rule>(from.map((rule) => [rule.path, rule]));

  const add = (path: string, access: Access, source = path): void => {
    const found = statSync(source, { throwIfNoEntry: false });
    if (found === undefined || path === '/') return;
    // A later rule for the same path takes its place in the order, too.
    rules.delete(path);
    rules.set(path, { path, access, source, isFolder: found.isDirectory() });
  };
  const ruleOver = (path: string): Rule | undefined => {
    for (let at = path; ; at = dirname(at)) {
      const rule = rules.get(at);
      if (rule !== undefined || at === '/') return rule;
    }
  };
  const isHidden = (path: string): boolean => isAway(ruleOver(realOf(path) ?? path));
  /** Where a path leads inside of a hidden place, which has no links any more; null: it enters none. */
  const aliasOf = (path: string): string | null => {
    const parts = path.split('/');
    for (let end = 2; end < parts.length; end++) {
      const real = realOf(parts.slice(0, end).join('/'));
      if (real !== null && isHidden(real)) return join(real, ...parts.slice(end));
    }
    return null;
  };
  const place = (access: Access, paths: readonly string[]): void => {
    for (const path of paths) {
      const real = path.startsWith('/') ? realOf(path) : null;
      if (real !== null) add(real, access);
    }
  };

  return {
    hide: (...paths: readonly string[]): void => place('hidden', paths),
    /** Empty, writable, and gone with the program. */
    empty: (...paths: readonly string[]): void => place('private', paths),
    show(access: 'read' | 'write', ...paths: readonly string[]): void {
      for (const path of paths) {
        const real = path.startsWith('/') ? realOf(path) : null;
        if (real === null) continue;
        const alias = aliasOf(path);
        add(real, access);
        if (alias !== null && alias !== real) add(alias, access, real);
      }
    },
    /** A link to another file in the place of this one. */
    replace: (path: string, source: string): void => add(path, 'link', source),
    /** Whether a path can't be seen, by the rules so far. */
    isHidden,
    /** Whether a hidden place begins at exactly this path. */
    isPlace: (path: string): boolean => isAway(rules.get(realOf(path) ?? path)),
    /** Whether one begins there, or somewhere in it. */
    isProtected(path: string): boolean {
      const real = realOf(path) ?? path;
      return [...rules.values()].some((rule) => isAway(rule) && isInside(real, rule.path));
    },
    /** As they were made, for others that begin with them. */
    all: (): Rule[] => [...rules.values()],
    /** In the order in which they are to be applied: folders before what is in them. */
    settled(): Rule[] {
      const all = [...rules.values()];
      const depth = ({ path }: Rule): number => path.split('/').length;
      return [...all, ...all.flatMap((rule) => inOtherPlaces(rule, all))]
        .sort((one, other) => depth(one) - depth(other))
        .filter((rule) => {
          const over = ruleOver(dirname(rule.path));
          return isOther(rule, over) && !isLinkShown(rule, over);
        });
    },
  };
}

/** A rule that says the same as the one over it changes nothing; but for an empty folder, which has to be made. */
function isOther({ path, access, source }: Rule, over: Rule | undefined): boolean {
  return access !== (over?.access ?? 'read') || access === 'private' || source !== path;
}

/** What is shown by the name of a link needs no place of its own where the link itself can be seen. */
function isLinkShown({ path, access, source }: Rule, over: Rule | undefined): boolean {
  return source !== path && access !== 'link' && !isAway(over) && (over === undefined || over.source === over.path);
}

function isAway(rule: Rule | undefined): boolean {
  return rule?.access === 'hidden' || rule?.access === 'private';
}

/** What is hidden in a folder is hidden wherever else that folder is shown. */
function inOtherPlaces(rule: Rule, all: readonly Rule[]): Rule[] {
  if (rule.access !== 'hidden') return [];
  return all
    .filter(({ path, source }) => path !== source && source !== rule.path && isInside(source, rule.path))
    .map(({ path, source }) => ({ ...rule, path: path + rule.path.slice(source.length) }));
}

/** Null where there is nothing. */
function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
