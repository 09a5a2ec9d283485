// Prompts and templates are Markdown files, built into the program as text.
declare module '*.md' {
  const text: string;
  export default text;
}
