import type { LldDocument } from '../document.ts';
import { error, type LldFinding, quote } from './rule.ts';

const RULE = 'files-table';
const FORM = 'a table with the columns File, Change Type (Add, Modify or Delete) and Description';

export function checkFilesTable(lld: LldDocument): LldFinding[] {
  const section = lld.sections.find(({ id }) => id === '2.1') ?? lld.sections.find(({ id }) => id === '2');
  if (!section) return [];
  if (lld.filesLine === null) {
    const isEmpty = section.nodes.length === 0;
    return isEmpty
      ? []
      : [error(RULE, section.line, `No table of files can be read in section 2.1: list every file in ${FORM}.`)];
  }
  if (lld.files.length + lld.unreadFiles.length === 0) {
    return [
      error(RULE, lld.filesLine, 'The table of files has no rows: list every file that is added, modified or deleted.'),
    ];
  }
  return [...unread(lld), ...withoutPath(lld), ...duplicates(lld)];
}

function unread(lld: LldDocument): LldFinding[] {
  return lld.unreadFiles.map(({ path, change, line }) => {
    const what = change === '' ? 'has no change type' : `has the change type ${quote(change)}`;
    return error(RULE, line, `${path || 'A row'} ${what}: use Add, Modify or Delete (a move is a Delete and an Add).`);
  });
}

function withoutPath(lld: LldDocument): LldFinding[] {
  return [...lld.files, ...lld.unreadFiles].flatMap(({ path, line }) => {
    if (path === '' || path === '.' || path === '-' || path === '–' || path === '—') {
      return [
        error(RULE, line, 'A row of the table of files names no path: give the path from the root of the repository.'),
      ];
    }
    if (path.includes('*')) return [error(RULE, line, `${path} is a pattern: list each file by its own path.`)];
    return [];
  });
}

function duplicates(lld: LldDocument): LldFinding[] {
  const seen = new Map<string, number>();
  return lld.files.flatMap(({ path, line }) => {
    const before = seen.get(path);
    if (before === undefined || path === '') {
      seen.set(path, line);
      return [];
    }
    return [error(RULE, line, `${path} is already listed in line ${before}: give each file one row.`)];
  });
}
