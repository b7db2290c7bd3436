"""Words that begin a sentence of a request, most often: a capital makes no name of them there."""

from __future__ import annotations

OPENERS = frozenset(
    """
    a about actually after again all also an and any anyway are as at because before but by can cancel
    change check could did do does each either every exchange find for from get give good great hello
    help here hey hi how however i if in instead is it it's its just let like look make many may maybe
    might my need next no not now of oh ok okay on once one or order our out please return show since so
    some sorry sure take tell thank thanks that that's the their them then there these they this those
    to track up update use was we well were what what's when where where's which while who whose why
    will with would yes you your yours
    able any are got had has i'd i'll i'm i've kindly leave let's mind must nothing perhaps rather right
    should somebody someone something still tell there's though until very want what's who's won't
    add analyse analyze arrange ask book build buy calculate choose compare compute convert create delete
    describe determine display download estimate explain extract fetch fill generate identify list locate make
    move obtain open organise organize pay pick place plan play prepare provide purchase recommend remove rent
    repeat replace reserve retrieve run schedule search select send set solve sort start stop submit suggest
    summarise summarize transfer translate turn understand verify write
    aber bitte danke dann das die du es gibt gut guten hallo heute ich ist kann kannst können könnte könnten
    könntest mache machen mein meine mir möchte nein nun sehr sie sind und was welche welcher welches wann wie
    wir wo würde würden würdest zeig zeige
    ach andere anderes außerdem braucht brauche danach darf dürfen ein eine falls ganz geht gib gilt hab habe
    haben hat hilft hinterher jede jeder jedes kurz lass lies mal muss nebenbei ob oder sag sage schick
    schicke schreib schreibe soll sollte sonst stell stelle such suche trag trage übrigens warum wem wen wenn
    wer weshalb wieso
    ahora buenas buenos como cómo cuál cuáles cuándo cuánto cuánta cuántos cuántas dame dime dónde el ella en
    es esta está este gracias hay hola la las lo los me mi muestra muéstrame necesito para perdón pero podría
    podrías por porque puede puedes pueden qué quiero querría quisiera sabes si sí también tengo un una y yo
    ai alors avez bien bonjour bonsoir ce cela combien comment dans de des dis dites donne donnez elle est et
    faites il ils j'ai j'aimerais je le les ma merci mes mon montre montrez nous où oui peux peux-tu pouvez
    pouvez-vous pour pourriez pourriez-vous pourrais pourrais-tu quand que quel quelle quelles quels qui quoi
    salut tu un une veuillez voici voilà vous
    accept activate adjust advise allow announce append apply approve assign attach authenticate avoid
    begin bring clarify collect combine compress configure confirm connect correct deactivate decrease
    define deploy disable discard disconnect divide eat edit enable encrypt enroll ensure enter erase
    establish evaluate examine execute expand explore extend figure follow forward gather go grab greet
    handle hire import include increase inform insert inspect install invite join keep launch learn link
    maintain merge modify multiply navigate notify perform populate predict prevent proceed process
    produce quote read rebook reduce refer refill refresh reject remind rename reply reschedule resend
    resolve respond restart restore resume retweet revert review reword rewrite scan see separate share
    shut simulate specify store subtract sum suspend swap switch terminate throw transcribe try undo
    unlock unsubscribe upgrade upload validate visit wake warn withdraw abre achète activa active
    actualise actualiza affiche affichez agrega aide ajoute ajoutez ajusta aktiviere aktualisiere annule
    annulez antworte apaga appelle apporte apunta arrête augmente ausgeben averigua avisa ayúdame añada
    añade baisse baja berechne bestelle bestätige bezahle borra buche buchen busca busque búscame
    calcula calcule cambia cambie cancela cancele changez cherche cherchez choisis cierra commande
    compara compra compre comprueba compte confirma confirme consulta convertis convierte copia copie
    corrige coupe crea cree crée créez desactiva dimme dis-moi dites-moi donne-moi donnez-moi dresse
    drucke déplace dígame efface elimina enciende encuentra encuéntrame enregistre enséñame entferne
    envoie envoie-moi envoyez envoyez-moi envía envíale envíame envíe erinnere erkläre ersetze erstelle
    escribe explique explícame exporte exportiere fais fasse ferme finde finden füge führe genera gib
    guarda génère haga haz hazme hol hole indica indiquez indícame indíqueme informa informiere instala
    installe installiere kaufe kopiere lade lance lee leg lege lies lis lista liste llama lösche löschen
    mach manda marca markiere melde merke mets mettez mira modifica modifie modifiez montre-moi
    montrez-moi mueve muéstreme mándame nenne nimm note obtiens obtén ordena organiza ouvre ouvrez paga
    paie passe pide plane planifie pon ponga ponme prends programa programme propose prépare prüfe
    prüfen publica publie pídeme quita rappelle recherche rechne recomienda recomiéndame recuérdame
    redacta regarde registra remplace renomme renouvelle renueva repite repère reserva reserviere
    reservieren resérvame retire revisa revise ruf rufe récupère réserve réserve-moi réservez résume sag
    sauvegarde schalte schau schick schicke schicken schließe schreib schreibe schreiben sende senden
    senk setz setze speichere spiel spiele starte stell stelle stellen storniere sube such suche suchen
    sugiere supprime supprimez teile traduce traduis trag trage transfiere transfère trouve trouve-moi
    trouvez trouvez-moi utilise verbinde vergleiche verifica verlängere verschicke verschiebe vire
    vérifie vérifiez wechsle wiederhole zahle zeigen zähle ändere ändern écris écrivez éteins öffne
    öffnen überprüfe übersetze überweise
    archive commit freeze reorder unfreeze we'd we're we've append decline dispute escalate refactor
    unfollow block call clear close cool copy count cut dim draft email export filter fix flag format
    group lock log lower measure mute pause plot post print pull push put raise rank rate record renew
    report reset round save sell ship sign test text unzip vacuum view watch water zip
    """.split()
)
"""Words that are capitalised only because a sentence begins with them. Another capitalised word may be a
name."""
