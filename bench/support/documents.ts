import { lldFor, review } from '../../test/support/models.ts';

/** A complete LLD of about this size that passes every check: prose, code, lists and tables as the template wants them. */
export function largeLld(id: string, chars: number): string {
  let text = lldFor(id);
  for (let n = 3; text.length < chars; n++) {
    text = insertBefore(text, '\n```\n\n### 2.4', `\n// Class${n}: { value: number, unit: string, digits: ${n} }`);
    text = insertBefore(text, '\n```\n\n### 2.5', signature(n));
    text = insertBefore(text, '\n\n### 2.6', `\n${n}. Round what is of class ${n} and keep its unit.`);
    text = insertBefore(text, '\n\n### 2.7', approach(n));
    text = insertBefore(
      text,
      '\n\n## 3.',
      `\n| Rounding of class ${n} | Floor, *half to even* | Half to even | No drift |`,
    );
    text = insertBefore(
      text,
      '\n\n## 4.',
      `\n${n}. Values of class ${n} are rounded to \`${n}\` digits and keep their **unit**.`,
    );
    text = insertBefore(text, '\n\n## 11.', scenario(n));
  }
  return text;
}

function signature(n: number): string {
  return `
/** Rounds a value of class ${n}; throws a TypeError that names an unknown unit. */
function roundClass${n}(value: Class${n}, digits = ${n}): Readonly<Class${n}>;`;
}

function approach(n: number): string {
  return `

Class ${n} goes through \`roundClass${n}\`, which takes the value and its unit, checks both, and returns a new object; the
one it was given stays as it is, so that callers can compare them. An unknown unit throws a \`TypeError\` that names it.`;
}

function scenario(n: number): string {
  const id = `${String(n).padStart(2, '0')}0`;
  return `\n| ${id} | Rounds class ${n} | Auto | \`${n}.123456\` | \`${n}.12\` | Result equals ${n}.12, the unit is kept | REQ-${n} |`;
}

function insertBefore(text: string, mark: string, piece: string): string {
  const at = text.indexOf(mark);
  return `${text.slice(0, at)}${piece}${text.slice(at)}`;
}

/** A REVISE in the usual form, with as many findings as it takes. */
export function largeReview(chars: number): string {
  const tier1: string[] = [];
  const tier2: string[] = [];
  let text = '';
  for (let n = 1; text.length < chars; n++) {
    (n % 3 === 0 ? tier1 : tier2).push(
      `**Finding ${n}:** Section 2.6 doesn't say what \`roundClass${n}\` does with a value of class ${n} that is not finite. *Recommendation:* name the error, add a scenario for it in section 10, and let REQ-${n} say that nothing is returned in that case.`,
    );
    text = review({ verdict: 'REVISE', tier1, tier2, resolved: [`Is class ${n} rounded? **RESOLVED: Yes.**`] });
  }
  return text;
}
