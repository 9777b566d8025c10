"""Words that say nothing about what a text is about. Function words only: nothing a user looks for."""

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before
    being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
    don't down during each few for from further had hadn't has hasn't have haven't having he her here
    hers herself him himself his how i if in into is isn't it its itself just let's me more most my
    myself no nor not of off on once only or other our ours ourselves out over own same she should
    shouldn't so some such than that the their theirs them themselves then there these they this those
    through to too under until up very was wasn't we were weren't what when where which while who whom
    why will with won't would wouldn't you your yours yourself yourselves
    i'm i've i'll i'd you're you've you'll you'd he's she's it's we're we've we'll they're they've
    they'll that's there's what's who's s t d ll m re ve
    """.split()
)
