import type { LldDocument } from '../document.ts';
import { markedText } from '../marked-text.ts';
import { type LldFinding, warning } from './rule.ts';

const FAIL_MODE =
  /\bfail(?:s|ed|ing|ure|ures)?[\s-]*(?:modes?|open|closed|safe|secure|fast|soft|hard|stop)\b|\b(?:failure|error) handling\b/i;

export function checkFailMode(lld: LldDocument): LldFinding[] {
  const section = lld.sections.find(({ id }) => id === '7');
  if (!section || section.nodes.length === 0) return [];
  if (section.nodes.some((node) => FAIL_MODE.test(markedText(node)))) return [];
  return [
    warning(
      'fail-mode',
      section.line,
      'Section 7 names no fail mode: say "Fail mode: fail closed" or "fail open", and what happens then.',
    ),
  ];
}
