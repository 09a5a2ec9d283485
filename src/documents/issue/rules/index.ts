import { checkCoverage } from './coverage.ts';
import { checkCriteria } from './criteria.ts';
import type { IssueRule } from './rule.ts';
import { checkSections } from './sections.ts';
import { checkSize } from './size.ts';
import { checkUndecided } from './undecided.ts';

export const ISSUE_RULES: IssueRule[] = [checkSections, checkSize, checkCoverage, checkCriteria, checkUndecided];
