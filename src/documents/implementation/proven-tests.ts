import type { Nodes } from 'mdast';
import { normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { columnsOf, tablesIn } from '../tables.ts';

/** A test that a report names for a scenario of its design. */
export interface ProvenTest {
  name: string;
  /** It also passes without the code. */
  isGuard: boolean;
}

/** The tests that the report of an implementation lists. */
export function provenTests(report: string): ProvenTest[] {
  const root = parseMarkdown(normaliseText(report));
  return tablesIn(root.children).flatMap((table) => {
    const { tests, type, scenario } = columnsOf(table, {
      tests: [/^tests$/],
      type: [/^type$/],
      scenario: [/^scenario$/],
    });
    if (tests === null || type === null || scenario === null) return [];
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
