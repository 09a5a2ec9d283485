import type { RootContent } from 'mdast';
import type { LldDocument } from '../document.ts';
import { LLD_SECTIONS } from '../sections.ts';
import { error, type LldFinding, quote, warning } from './rule.ts';

/** `section-missing`, `section-empty`, `section-repeated`, `section-order`. */
export function checkSections(lld: LldDocument): LldFinding[] {
  return [...missing(lld), ...empty(lld), ...repeated(lld), ...misplaced(lld)];
}

function missing(lld: LldDocument): LldFinding[] {
  const found = new Set(lld.sections.map((section) => section.id));
  return LLD_SECTIONS.filter(({ id }) => !found.has(id)).flatMap(({ id, title }) => {
    if (id.startsWith('2.') && !found.has('2')) return [];
    const line = lineBefore(lld, id);
    if (id === 'log') {
      return [
        warning('section-missing', line, 'The appendix is missing: end the document with "## Appendix: Review Log".'),
      ];
    }
    const hashes = id.includes('.') ? '### ' : '## ';
    const number = id.includes('.') ? id : `${id}.`;
    return [
      error('section-missing', line, `Section ${id} is missing: add "${hashes}${number} ${title}" with its content.`),
    ];
  });
}

/** The section after which the missing one belongs. */
function lineBefore(lld: LldDocument, id: string): number {
  const order = LLD_SECTIONS.map((section) => section.id);
  const before = new Set(order.slice(0, order.indexOf(id)));
  return lld.sections.filter((section) => before.has(section.id)).at(-1)?.line ?? lld.titleLine;
}

function empty(lld: LldDocument): LldFinding[] {
  return lld.sections
    .filter((section) => section.id !== 'log' && !section.nodes.some(isContent))
    .filter((section) => section.id !== '2' || !lld.sections.some((other) => other.id.startsWith('2.')))
    .map((section) =>
      error(
        'section-empty',
        section.line,
        `${quote(section.title)} is empty: fill it in, or say "None" and why nothing applies.`,
      ),
    );
}

/** Whether a node of a section says anything. */
export function isContent(node: RootContent): boolean {
  if (node.type === 'heading' || node.type === 'thematicBreak' || node.type === 'definition') return false;
  if (node.type === 'html') return node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim() !== '';
  if (node.type === 'code') return node.value.trim() !== '';
  return node.type !== 'table' || node.children.length > 1;
}

function repeated(lld: LldDocument): LldFinding[] {
  return lld.repeatedSections.map((section) =>
    warning(
      'section-repeated',
      section.line,
      `${quote(section.title)} stands here for the second time, and only the first is read: merge the two.`,
    ),
  );
}

function misplaced(lld: LldDocument): LldFinding[] {
  const order = LLD_SECTIONS.map((section) => section.id);
  let last = -1;
  return lld.sections.flatMap((section) => {
    const place = order.indexOf(section.id);
    if (place < last) {
      return [
        warning(
          'section-order',
          section.line,
          `${quote(section.title)} stands out of order: the sections go from 1 to 12.`,
        ),
      ];
    }
    last = place;
    const wrong = section.number !== null && section.id !== 'log' && section.number !== section.id;
    return wrong
      ? [
          warning(
            'section-order',
            section.line,
            `${quote(section.title)} is section ${section.id} of the template: correct its number.`,
          ),
        ]
      : [];
  });
}
