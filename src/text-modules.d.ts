// Prompts and templates are Markdown files, built into the program as text.
declare module '*.md' {
  const text: string;
  export default text;
}

/** The same without Redis; its types are in the package's main file only. */
declare module 'bottleneck/light.js' {
  export { default } from 'bottleneck';
}
