import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Drawer } from '../parts/drawer.tsx';
import { Icon, Mark } from '../parts/icon.tsx';
import { useView } from './location.tsx';
import { useMedia } from './use-media.ts';

interface FrameProps {
  navigation: ComponentChildren;
  children: ComponentChildren;
}

const narrow = '(width < 840px)';

/** The frame of every view: the navigation beside it, or behind a button on a narrow screen. */
export function Frame({ navigation, children }: FrameProps) {
  const isNarrow = useMedia(narrow);
  const { path } = useView();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      {isNarrow ? (
        <header class="top">
          <button
            type="button"
            class="quiet icon-only"
            aria-label="Menu"
            aria-expanded={isOpen}
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <Brand />
        </header>
      ) : (
        <header class="side">
          <Brand />
          {navigation}
        </header>
      )}
      <main id="content">{children}</main>
      {isNarrow && isOpen ? (
        <Drawer title="Gatehouse" side="start" onClose={() => setOpen(false)}>
          {navigation}
        </Drawer>
      ) : null}
    </div>
  );
}

function Brand() {
  return (
    <a class="brand" href="/app/">
      <Mark />
      Gatehouse
    </a>
  );
}
