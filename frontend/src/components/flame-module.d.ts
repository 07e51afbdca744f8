/** What the module of the page of profiles has; it is plain JavaScript, because that page stands in it as it is. */

declare module "*/profiles/page/flame.js" {
  interface Environment {
    keys: EventTarget;
    isDark: () => boolean;
    read: () => string;
    write: (text: string) => void;
  }
  export function flameGraph(root: Element, data: unknown, environment: Environment): () => void;
}
