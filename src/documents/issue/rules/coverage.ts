import type { DocumentFinding } from '../../document-finding.ts';
import { error, quote, warning } from '../../lld/rules/rule.ts';
import type { IssueDocument } from '../document.ts';
import type { References } from '../references.ts';

type Kind = keyof References;

const WORDS: Record<Kind, { section: Kind; one: string; letter: string; form: string }> = {
  scenarios: { section: 'scenarios', one: 'scenario', letter: 'S', form: '"- **S1 – name:** …"' },
  requirements: { section: 'requirements', one: 'requirement', letter: 'R', form: '"1. …"' },
};

/**
 * `scenario-none`, `scenario-duplicate`, `scenario-uncovered`, the same for requirements, `criterion-none`,
 * `criterion-unknown-reference`, `criterion-unlinked`.
 */
export function checkCoverage(issue: IssueDocument): DocumentFinding[] {
  return [...numbering(issue, 'scenarios'), ...numbering(issue, 'requirements'), ...criteria(issue)];
}

/** Where a section has content, it has entries; each has its own number and a criterion that names it. */
function numbering(issue: IssueDocument, kind: Kind): DocumentFinding[] {
  const { one, letter, form } = WORDS[kind];
  const section = sectionWithContent(issue, kind);
  if (section === null) return [];
  const entries = issue[kind];
  if (entries.length === 0) {
    return [
      error(
        `${one}-none`,
        section,
        `There is no numbered ${one}: write each as ${form}, so that a criterion can name it.`,
      ),
    ];
  }
  const seen = new Set<number>();
  const covered = new Set(issue.criteria.flatMap((criterion) => criterion[kind]));
  return entries.flatMap(({ number, text, line }) => {
    const name = `${letter}${number}`;
    if (seen.has(number)) {
      return [error(`${one}-duplicate`, line, `${name} is there twice: number every ${one} in one sequence.`)];
    }
    seen.add(number);
    return covered.has(number) || issue.criteria.length === 0
      ? []
      : [
          error(
            `${one}-uncovered`,
            line,
            `No acceptance criterion settles ${name}, ${quote(text)}: add one that ends with "(${name})".`,
          ),
        ];
  });
}

function criteria(issue: IssueDocument): DocumentFinding[] {
  const section = sectionWithContent(issue, 'criteria');
  if (section === null) return [];
  if (issue.criteria.length === 0) {
    return [
      error(
        'criterion-none',
        section,
        'There is no acceptance criterion: write them as a checklist, "- [ ] … (S1, R1)".',
      ),
    ];
  }
  return issue.criteria.flatMap((criterion) => {
    const { label, line } = criterion;
    const unknown = (['scenarios', 'requirements'] as const).flatMap((kind) =>
      unknownNumbers(issue, kind, criterion[kind]).map((number) => `${WORDS[kind].letter}${number}`),
    );
    if (unknown.length > 0) {
      const list = unknown.join(', ');
      return [
        error(
          'criterion-unknown-reference',
          line,
          `${label} names ${list}, which is not there: correct the number, or add what it means.`,
        ),
      ];
    }
    return criterion.scenarios.length + criterion.requirements.length > 0
      ? []
      : [
          warning(
            'criterion-unlinked',
            line,
            `${label} names no scenario and no requirement: end it with those that it settles, as in "(S1, R1)".`,
          ),
        ];
  });
}

/** Without any entry the section itself is the finding. */
function unknownNumbers(issue: IssueDocument, kind: Kind, numbers: number[]): number[] {
  const known = new Set(issue[kind].map(({ number }) => number));
  return known.size === 0 ? [] : numbers.filter((number) => !known.has(number));
}

/** The line of the section, or null where it is missing or empty, which is said elsewhere. */
function sectionWithContent({ sections }: IssueDocument, id: Kind | 'criteria'): number | null {
  const section = sections.find((entry) => entry.id === id)?.section;
  return section && section.all.length > 0 ? section.line : null;
}
