import { checkFailMode } from './fail-mode.ts';
import { checkFilesTable } from './files-table.ts';
import { checkIssueNumber } from './issue-number.ts';
import { checkManualScenarios } from './manual-scenarios.ts';
import { checkMermaid } from './mermaid.ts';
import { checkOpenQuestions } from './open-questions.ts';
import { checkPassCriteria } from './pass-criteria.ts';
import { checkPaths } from './paths.ts';
import { checkRequirements } from './requirements.ts';
import type { Rule } from './rule.ts';
import { checkScenarios } from './scenarios.ts';
import { checkSections } from './sections.ts';
import { checkTemplateText } from './template-text.ts';
import { checkUnboundedLoops } from './unbounded-loop.ts';

/** In the order of the document that they look at, so that findings on one line read from the general to the particular. */
export const LLD_RULES: Rule[] = [
  checkSections,
  checkIssueNumber,
  checkOpenQuestions,
  checkFilesTable,
  checkPaths,
  checkRequirements,
  checkMermaid,
  checkFailMode,
  checkUnboundedLoops,
  checkScenarios,
  checkPassCriteria,
  checkManualScenarios,
  checkTemplateText,
];
