import type { Nodes } from 'mdast';
import { columnNamed, normaliseText, parseMarkdown, plainText, tablesIn } from '../markdown.ts';

/** A test that a report names for a scenario of its design. */
export interface ProvenTest {
  name: string;
  /** It passes without the code too. */
  isGuard: boolean;
}

/** The tests that prove an implementation, as its report lists them; empty where it lists none. */
export function provenTests(report: string): ProvenTest[] {
  const root = parseMarkdown(normaliseText(report));
  return tablesIn(root.children).flatMap((table) => {
    const tests = columnNamed(table, [/^tests$/]);
    const type = columnNamed(table, [/^type$/]);
    if (tests === null || type === null || columnNamed(table, [/^scenario$/]) === null) return [];
    return table.rows.flatMap(({ cells, nodes }) =>
      namesIn(nodes[tests]?.children ?? []).map((name) => ({ name, isGuard: cells[type] === 'Guard' })),
    );
  });
}

/** One for each line of the cell. */
function namesIn(nodes: readonly Nodes[]): string[] {
  const names = [''];
  for (const node of nodes) {
    if (node.type === 'html' && /^<br\b/i.test(node.value)) names.push('');
    else names.push(`${names.pop() ?? ''}${plainText(node)}`);
  }
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== '–');
}
