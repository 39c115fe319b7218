import type { ComponentChildren } from 'preact';
import { TitleContext } from '../shell/title.ts';

/** A part of a page under a heading. */
export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <TitleContext.Provider value={title}>
      <h2>{title}</h2>
      {children}
    </TitleContext.Provider>
  );
}
