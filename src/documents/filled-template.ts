/** A template with the title of what it is for and, under its title, all that was said about it. */
export function filledTemplate(
  template: string,
  { id, title, body, note }: { id: string; title: string; body: string; note: string },
): string {
  const named = template
    .replace(/\{\{issue id\}\}/g, () => id)
    .replace(/\{\{(?:issue )?title[^{}]*\}\}/g, () => title.replace(/\s+/g, ' ').trim());
  const [heading = '', ...rest] = named.trim().split('\n');
  // A quotation: headings and tables of the issue are not taken for those of the document.
  const quoted = [note, '', ...body.trim().split('\n')].map((line) => `> ${line}`.trimEnd());
  return [heading, '', ...quoted, ...rest, ''].join('\n');
}
