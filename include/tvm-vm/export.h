/* What the libraries export: everything else of theirs is invisible to the program that links them. */
#ifndef TVMVM_EXPORT_H_
#define TVMVM_EXPORT_H_

#ifdef TVMVM_STATIC /* archives export nothing of their own, even where they become part of another library \
                     */
#define TVMVM_EXPORT
#else
#define TVMVM_EXPORT __attribute__((visibility("default")))
#endif
/* Members of exported classes that are nobody else's business. */
#define TVMVM_PRIVATE __attribute__((visibility("hidden")))

#endif /* TVMVM_EXPORT_H_ */
