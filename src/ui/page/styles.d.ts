// Style sheets are built into one file beside the script.
declare module '*.css';
