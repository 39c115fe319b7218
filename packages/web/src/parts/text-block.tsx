interface TextBlockProps {
  /** Read out for the block, which scrolls inside itself. */
  label: string;
  text: string;
}

/** A text as it was sent, with its line ends. It scrolls, also by keyboard. */
export function TextBlock({ label, text }: TextBlockProps) {
  return (
    <pre class="preview" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  );
}
