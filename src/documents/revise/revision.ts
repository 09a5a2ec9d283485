import { normaliseText } from '../../markdown/markdown.ts';
import { disputesIn } from '../ledger.ts';
import { keepAnswers } from '../questions.ts';
import { applyEdits, readEdits } from './edits.ts';
import { type DocumentForm, LLD_FORM } from './form.ts';
import { sectionLosses } from './losses.ts';
import { documentFromReply, formOf } from './reply.ts';
import { reviewLogOf } from './review-log.ts';

export interface RevisionOptions {
  /** The texts of the open findings. */
  named: string[] | null;
  form?: DocumentForm;
}

type Limits = Required<RevisionOptions>;

export type Revision = { ok: true; text: string; changed: boolean } | { ok: false; reason: string };

const NO_CHANGE =
  /\bno (?:further |additional |more )?(?:changes?|edits?|revisions?)\b[^.\n]{0,60}\b(?:needed|required|necessary|made|to make)\b|\b(?:draft|lld|document) (?:is|remains|stays) (?:unchanged|as (?:it )?is)\b|\b(?:draft|lld|document) already (?:address|cover|satisf|meet|handl)|^\W*no[ _-]?changes?\W*$/im;
const UNABLE = /\b(?:can(?:no|['’])t|cannot|unable to|error|not able to|won['’]t|sorry)\b/i;

/**
 * The draft after a drafter's reply: edit blocks, or the whole document in any form that `documentFromReply` reads. A
 * whole document may not lose sections that the findings don't name. With null any section may be
 * rewritten, but none may be missing. A reply that says explicitly that nothing changes keeps the draft; any other prose is
 * refused. A document of the other form replaces the whole draft.
 */
export function reviseDraft(draft: string, reply: string, { named, form = LLD_FORM }: RevisionOptions): Revision {
  const current = finished(draft);
  const limits = { named, form };
  const edits = readEdits(reply, form);
  if (edits) {
    const applied = applyEdits(current, edits);
    // An edit quotes the text that it replaces, so it may shorten any section, but not remove one.
    if (applied.ok) return judged(current, applied.text, { ...limits, named: null });
    // A whole document may contain such markers as text.
    const whole = wholeDocument(current, reply, limits);
    return whole.ok ? whole : applied;
  }
  if (saysNoChange(reply)) return { ok: true, text: current, changed: false };
  return wholeDocument(current, reply, limits);
}

function wholeDocument(current: string, reply: string, limits: Limits): Revision {
  const document = documentFromReply(reply, limits.form);
  if (!document.ok) return document;
  const isSame = formOf(document.text, limits.form) === formOf(current, limits.form);
  return judged(current, isSame ? withLogOf(current, document.text) : document.text, limits);
}

function judged(current: string, revised: string, given: Limits): Revision {
  const form = formOf(current, given.form);
  if (formOf(revised, given.form) !== form) return { ok: true, text: finished(revised), changed: true };
  // A better claim may cite other or less evidence.
  const limits = form === given.form ? given : { form, named: null };
  const text = finished(keepAnswers(current, revised));
  if (sameWords(current, text)) return { ok: true, text: current, changed: false };
  const losses = sectionLosses(current, text, limits);
  if (losses.length > 0) return { ok: false, reason: `the revision loses text of the draft: ${losses.join('; ')}` };
  return { ok: true, text, changed: true };
}

/** Whether a reply says explicitly that the draft stays the same, or only disputes findings. */
export function saysNoChange(reply: string): boolean {
  const text = normaliseText(reply).trim();
  if (/^ {0,3}#/m.test(text)) return false;
  return disputesIn(text).length > 0 || (text.length <= 600 && NO_CHANGE.test(text) && !UNABLE.test(text));
}

/** Restores the review log if the drafter left it out, because the program writes it. */
function withLogOf(draft: string, revised: string): string {
  if (/^ {0,3}#.*review log/im.test(revised)) return revised;
  const log = reviewLogOf(draft);
  return log ? `${revised.trimEnd()}\n\n${draft.slice(log.start, log.end)}` : revised;
}

/** Ignores padding of tables, blank lines and wrapping. */
function sameWords(left: string, right: string): boolean {
  const bare = (text: string) =>
    text
      .replace(/-{3,}/g, '---')
      .replace(/\s*\|\s*/g, '|')
      .replace(/\s+/g, ' ');
  return bare(left) === bare(right);
}

function finished(text: string): string {
  return `${normaliseText(text).trimEnd()}\n`;
}
