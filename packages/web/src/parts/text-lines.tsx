/** Short texts, one on each line; a dash without any. */
export function TextLines({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return <>–</>;
  return (
    <ul class="lines">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}
