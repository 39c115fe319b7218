import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface TabsProps {
  label: string;
  /** Titles with their panels. */
  tabs: Readonly<Record<string, ComponentChildren>>;
}

/** Panels of which one is shown. Arrow keys move between their tabs. */
export function Tabs({ label, tabs }: TabsProps) {
  const titles = Object.keys(tabs);
  const [chosen, setChosen] = useState(titles[0] ?? '');
  const id = useId();
  const move = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (titles.indexOf(chosen) + step + titles.length) % titles.length;
    setChosen(titles[next] ?? '');
    const button = event.currentTarget.children[next];
    if (button instanceof HTMLElement) button.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {titles.map((title) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`${id}-${title}`}
            aria-selected={title === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={title === chosen ? 0 : -1}
            onClick={() => setChosen(title)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {tabs[chosen]}
      </div>
    </div>
  );
}
