import { lineOf } from '../../markdown.ts';
import { codeIn, isMermaid, type LldDocument } from '../document.ts';
import { mermaidProblem } from './mermaid-syntax.ts';
import { error, type LldFinding } from './rule.ts';

const RULE = 'mermaid';

/** Section 6 has a diagram, and every diagram of the document can be drawn as far as a light check tells. */
export function checkMermaid(lld: LldDocument): LldFinding[] {
  const broken = lld.mermaid.flatMap(({ text, line }) => {
    const problem = mermaidProblem(text);
    return problem === null ? [] : [error(RULE, line, `The Mermaid diagram cannot be drawn, ${problem}: correct it.`)];
  });
  const section = lld.sections.find(({ id }) => id === '6');
  if (!section || section.nodes.length === 0) return broken;
  const blocks = section.nodes.flatMap((node) => codeIn(node));
  if (blocks.some(isMermaid)) return broken;
  const unmarked = blocks.find((code) => !code.lang && mermaidProblem(code.value) === null);
  return [
    unmarked
      ? error(
          RULE,
          lineOf(unmarked),
          'The diagram of section 6 is not marked as Mermaid: begin its fence with "```mermaid".',
        )
      : error(
          RULE,
          section.line,
          'Section 6 has no Mermaid diagram: add a "```mermaid" block, such as a flowchart of the main path.',
        ),
    ...broken,
  ];
}
